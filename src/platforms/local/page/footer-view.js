/** What is below an answer: the quiet line, which opens the record, and the buttons Retry, 👍 and 👎. */
import { Failure, request } from "./api.js";
import { button, element } from "./dom.js";
import { rendered } from "./markdown.js";

const maxWordsLength = 1_000;

export function footerView({ id, footer }, me) {
  const { line, choices } = footer;
  const note = element("p", { class: "footer-note", role: "status" });
  const send = (action, text) => act({ person: me.id, messageId: id, action, ...(text ? { text } : {}) }, note);
  return element(
    "div",
    { class: "footer" },
    choices.includes("details") ? recordView(line || "Details", send) : line !== "" && element("p", { text: line }),
    choices.includes("retry") && retryButton(send),
    choices.includes("feedback") && ratingView(send),
    note,
  );
}

async function act(body, note) {
  try {
    const answer = await request("POST", "footer", body);
    if (body.action !== "details") note.textContent = answer.text;
    return answer;
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    note.textContent = thrown.message;
    return undefined;
  }
}

/** The record is read when somebody opens it, because it can change, for example by an undo. */
function recordView(line, send) {
  const record = element("div", { class: "record" });
  const view = element(
    "details",
    { class: "footer-line" },
    element("summary", { text: line.replace(/^▸ /, "") }),
    record,
  );
  view.addEventListener("toggle", async () => {
    if (!view.open) return;
    record.textContent = "…";
    const answer = await send("details");
    if (answer === undefined) {
      record.textContent = "";
      view.open = false;
      return;
    }
    const { text, file } = answer;
    record.replaceChildren(rendered(text, false));
    if (file !== undefined) record.append(fileLink(file));
  });
  return view;
}

function fileLink({ name, text }) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  return element("a", { class: "file", href, download: name, text: name });
}

function retryButton(send) {
  async function onclick() {
    retry.disabled = true;
    const answer = await send("retry");
    if (answer === undefined) retry.disabled = false;
  }
  const retry = button("Retry", { class: "button small", onclick });
  return retry;
}

/** A second click on the same button takes the rating back. */
function ratingView(send) {
  let rating = "withdraw";
  const words = wordsForm((text) => send("bad", text));
  const thumb = (action, sign, label) =>
    button(sign, {
      ...{ class: "rating", title: label, "aria-label": label, "aria-pressed": `${rating === action}` },
      onclick: () => void choose(action),
    });
  const good = thumb("good", "👍", "This answer helped");
  const bad = thumb("bad", "👎", "This answer did not help");

  async function choose(action) {
    const wanted = rating === action ? "withdraw" : action;
    const answer = await send(wanted);
    if (!answer?.accepted) return;
    rating = wanted;
    good.setAttribute("aria-pressed", `${rating === "good"}`);
    bad.setAttribute("aria-pressed", `${rating === "bad"}`);
    words.hidden = rating !== "bad";
    if (rating === "bad") words.querySelector("input").focus();
  }

  return element("div", { class: "ratings" }, good, bad, words);
}

function wordsForm(send) {
  const label = "What was wrong? (optional)";
  const field = element("input", { maxlength: maxWordsLength, "aria-label": label, placeholder: label });
  const submit = button("Send", { type: "submit", class: "button small" });
  const form = element("form", { class: "rating-words", hidden: true }, field, submit);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (text === "") return;
    const answer = await send(text);
    if (answer?.accepted) form.hidden = true;
  });
  return form;
}
