/** The message composer. Each conversation keeps its unsent text, even after a failed send. */
import { Failure, Unreachable } from "./api.js";
import { createAttachedFiles } from "./attached-files.js";
import { button, element, iconButton } from "./dom.js";

/**
 * `send(target, { id, text, attachments })`, `upload(id, file, onProgress)` and `command({ name, rest })` reject with a Failure
 * whose sentence is shown. `target()` says where a message goes.
 */
export function createComposer(slot, { id, target, send, upload, command, commands, limits }) {
  const drafts = new Map();
  let context = { key: "", hint: "", isMentionOffered: false };
  let pending;
  let isUnreachable = false;

  const text = element("textarea", { id, rows: "1", "aria-describedby": `${id}-hint`, enterkeyhint: "send" });
  const label = element("label", { for: id, class: "visually-hidden" });
  const hint = element("span", { class: "composer-hint", id: `${id}-hint` });
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  const attached = createAttachedFiles({ upload, limits, say });
  const picker = element("input", {
    type: "file",
    multiple: true,
    hidden: true,
    "aria-hidden": "true",
    tabindex: "-1",
  });
  const suggestions = element("div", { class: "suggestions", role: "group", "aria-label": "Commands", hidden: true });
  const attach = iconButton("Attach files", "attach", () => picker.click());
  const mention = button("@remora", {
    class: "text-button",
    title: "Mention the agent",
    onclick: () => write(`@remora ${text.value}`),
  });
  const submit = button("Send", { type: "submit", class: "button primary send" });
  const bar = element("div", { class: "composer-bar" }, attach, mention, hint, submit);
  const form = element("form", { class: "composer" }, label, attached.view, text, bar, problem, picker, suggestions);
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
    isUnreachable = false;
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
        return button(
          undefined,
          { class: index === 0 ? "suggestion chosen" : "suggestion", onclick: take },
          element("code", { text: `/remora ${usage}` }),
          element("span", { text: description }),
        );
      }),
    );
  }

  async function submitted(event) {
    event?.preventDefault();
    const value = text.value;
    if ((value.trim() === "" && attached.all().length === 0) || submit.disabled) return;
    submit.disabled = true;
    const [files, { key }] = [attached.all(), context];
    try {
      await deliver(value, files);
      pending = undefined;
      // During the uploads, the person may have opened another conversation.
      if (context.key !== key) {
        if (drafts.get(key) === value) drafts.delete(key);
        return;
      }
      // Keep what was added during the request.
      attached.remove(files);
      // Keep what was typed during the request.
      if (text.value === value) text.value = "";
      changed();
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      say(thrown.message);
      isUnreachable = thrown instanceof Unreachable;
    } finally {
      submit.disabled = false;
    }
  }

  async function deliver(value, files) {
    const typed = value.match(/^\/remora(?:\s+(\S+))?(?:\s+([\s\S]*))?$/);
    if (typed) return await command({ name: typed[1] ?? "help", rest: (typed[2] ?? "").trim() });
    // The same text keeps its id so that a lost acknowledgement does not cause a second message.
    if (pending?.text !== value || pending.key !== context.key) {
      pending = { id: crypto.randomUUID(), text: value, key: context.key };
    }
    const [to, { id: messageId }] = [target(), pending];
    const attachments = await attached.upload(files);
    await send(to, { id: messageId, text: value, attachments });
  }

  text.addEventListener("input", () => {
    // The same words are another message if they are written anew.
    if (text.value === "") pending = undefined;
    changed();
  });
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
    attached.add(event.clipboardData.files);
  });
  form.addEventListener("submit", submitted);
  // A file can be dropped anywhere in the column.
  const pane = slot.parentElement;
  pane.addEventListener("dragover", ({ dataTransfer }) => {
    if (dataTransfer.types.includes("Files")) form.classList.add("dropping");
  });
  pane.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!pane.contains(relatedTarget)) form.classList.remove("dropping");
  });
  pane.addEventListener("drop", ({ dataTransfer }) => {
    form.classList.remove("dropping");
    attached.add(dataTransfer.files);
  });
  picker.addEventListener("change", () => {
    attached.add(picker.files);
    picker.value = "";
  });

  return {
    write,
    focus: () => text.focus(),
    hasFocus: () => document.activeElement === text,
    /** Remora can be reached. */
    connected() {
      if (isUnreachable) say("");
    },
    show(next) {
      const isOther = next.key !== context.key;
      if (context.key === "") enable(true);
      context = next;
      label.textContent = next.label;
      text.placeholder = next.placeholder;
      hint.textContent = next.hint;
      if (!isOther) return;
      attached.remove(attached.all());
      text.value = drafts.get(next.key) ?? "";
      changed();
    },
  };
}
