/** The message composer. Each conversation keeps its unsent text, even after a failed send. */
import { Failure } from "./api.js";
import { element, icon, sizeOf } from "./dom.js";

/** After Base64 encoding, this much still fits the server's limit for a message. */
const maxAttachedBytes = 1_400_000;

/** `send({ id, text, attachments })` and `command({ name, rest })` reject with a Failure, whose message is shown. */
export function createComposer(slot, { id, send, command, commands }) {
  const drafts = new Map();
  let context = { key: "", hint: "", isMentionOffered: false };
  let files = [];
  let pending;

  const text = element("textarea", { id, rows: "1", "aria-describedby": `${id}-hint`, enterkeyhint: "send" });
  const label = element("label", { for: id, class: "visually-hidden" });
  const hint = element("span", { class: "composer-hint", id: `${id}-hint` });
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  const attached = element("div", { class: "attached", hidden: true });
  const picker = element("input", {
    type: "file",
    multiple: true,
    hidden: true,
    "aria-hidden": "true",
    tabindex: "-1",
  });
  const suggestions = element("div", { class: "suggestions", role: "group", "aria-label": "Commands", hidden: true });
  const attach = element(
    "button",
    { type: "button", class: "icon-button", "aria-label": "Attach files", title: "Attach files" },
    icon("attach"),
  );
  const mention = element("button", {
    type: "button",
    class: "text-button",
    text: "@remora",
    title: "Mention the agent",
  });
  const submit = element("button", { type: "submit", class: "button primary send", text: "Send" });
  const bar = element("div", { class: "composer-bar" }, attach, mention, hint, submit);
  const form = element("form", { class: "composer" }, label, attached, text, bar, problem, picker, suggestions);
  slot.append(form);
  // Disabled until the target is known, because earlier input would be lost.
  enable(false);

  function enable(isEnabled) {
    for (const control of form.elements) control.disabled = !isEnabled;
  }

  function grow() {
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  }

  function say(sentence) {
    problem.textContent = sentence;
    problem.hidden = sentence === "";
  }

  function changed() {
    drafts.set(context.key, text.value);
    grow();
    say("");
    suggest();
    mention.hidden = !context.isMentionOffered || /@remora\b/i.test(text.value);
  }

  function write(value) {
    text.value = value;
    changed();
    text.focus();
  }

  function matching() {
    const typed = text.value.toLowerCase();
    if (!typed.startsWith("/") || typed.includes("\n")) return [];
    return commands().filter(({ usage }) => {
      const line = `/remora ${usage.split(" ")[0]}`;
      return line.startsWith(typed) || typed === "/remora ";
    });
  }

  function suggest() {
    const found = matching();
    suggestions.hidden = found.length === 0;
    suggestions.replaceChildren(
      ...found.map(({ usage, description }, index) => {
        const take = () => write(`/remora ${usage.split(" ")[0]}${usage.includes(" ") ? " " : ""}`);
        return element(
          "button",
          { type: "button", class: index === 0 ? "suggestion chosen" : "suggestion", onclick: take },
          element("code", { text: `/remora ${usage}` }),
          element("span", { text: description }),
        );
      }),
    );
  }

  function showFiles() {
    attached.hidden = files.length === 0;
    attached.replaceChildren(
      ...files.map((file) => {
        const remove = () => {
          files = files.filter((other) => other !== file);
          showFiles();
        };
        const label = `Remove ${file.name}`;
        const button = element(
          "button",
          { type: "button", class: "icon-button", "aria-label": label, onclick: remove },
          icon("close"),
        );
        return element("span", { class: "attached-file" }, `${file.name} · ${sizeOf(file.size)}`, button);
      }),
    );
  }

  function addFiles(more) {
    const all = [...files, ...more].slice(0, 10);
    const bytes = all.reduce((sum, file) => sum + file.size, 0);
    if (bytes > maxAttachedBytes) say(`The files of a message can total at most ${sizeOf(maxAttachedBytes)}.`);
    else files = all;
    showFiles();
  }

  async function submitted(event) {
    event?.preventDefault();
    const value = text.value;
    if ((value.trim() === "" && files.length === 0) || submit.disabled) return;
    submit.disabled = true;
    try {
      await deliver(value);
      files = [];
      pending = undefined;
      showFiles();
      // Keep what was typed during the request.
      if (text.value === value) text.value = "";
      changed();
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      say(thrown.message);
    } finally {
      submit.disabled = false;
    }
  }

  async function deliver(value) {
    const typed = value.match(/^\/remora(?:\s+(\S+))?(?:\s+([\s\S]*))?$/);
    if (typed) return await command({ name: typed[1] ?? "help", rest: (typed[2] ?? "").trim() });
    // The same text keeps its id so that a lost acknowledgement does not cause a second message.
    if (pending?.text !== value || pending.key !== context.key) {
      pending = { id: crypto.randomUUID(), text: value, key: context.key };
    }
    const attachments = await Promise.all(files.map(encoded));
    await send({ id: pending.id, text: value, attachments });
  }

  text.addEventListener("input", changed);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Tab" && !event.shiftKey && !suggestions.hidden) {
      const [first] = suggestions.children;
      const isTaken = first.querySelector("code").textContent.split(" ").slice(0, 2).join(" ") === text.value.trim();
      if (isTaken) return;
      event.preventDefault();
      first.click();
    }
    if (event.key === "Escape" && !suggestions.hidden) {
      suggestions.hidden = true;
      event.stopPropagation();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submitted(event);
  });
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    addFiles(event.clipboardData.files);
  });
  form.addEventListener("submit", submitted);
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("dropping");
  });
  form.addEventListener("dragleave", () => form.classList.remove("dropping"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("dropping");
    addFiles(event.dataTransfer.files);
  });
  attach.addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    addFiles(picker.files);
    picker.value = "";
  });
  mention.addEventListener("click", () => write(`@remora ${text.value}`));

  return {
    write,
    focus: () => text.focus(),
    show(next) {
      const isOther = next.key !== context.key;
      if (context.key === "") enable(true);
      context = next;
      label.textContent = next.label;
      text.placeholder = next.placeholder;
      hint.textContent = next.hint;
      if (!isOther) return;
      files = [];
      showFiles();
      text.value = drafts.get(next.key) ?? "";
      changed();
    },
  };
}

async function encoded(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return { name: file.name, mimeType: file.type || "application/octet-stream", base64: btoa(binary) };
}
