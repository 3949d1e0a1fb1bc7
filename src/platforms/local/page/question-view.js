/**
 * A plugin's question, with a button for each option, or one that opens a form, while it is open. Its words are in quotes, and on no
 * button.
 */
import { Failure, upload } from "./api.js";
import { click } from "./click.js";
import { openForm } from "./dialog.js";
import { button, element } from "./dom.js";

export function questionView(message, me) {
  const { id, head, question, options, words, note, isOpen } = message.question;
  const receipt = element("p", { class: "card-receipt", role: "status" });
  const pick = (answer) =>
    click(view, receipt, "picks", { person: me.id, messageId: message.id, questionId: id, ...answer });
  const write = async () => {
    const said = await askInWords(message.question, me);
    if (said !== undefined) await pick({ said });
  };
  const view = element(
    "section",
    { class: "card plugin-question", tabindex: "-1", "aria-label": "Question of a plugin" },
    element("h3", { text: head }),
    element("blockquote", { text: `“${question}”` }),
    options.length > 0 && element("ol", {}, ...options.map((text) => element("li", { text: `“${text}”` }))),
    isOpen &&
      element(
        "div",
        { class: "card-buttons" },
        ...options.map((_text, option) => button(`Answer ${option + 1}`, { onclick: () => pick({ option }) })),
        words && button("Answer…", { onclick: write }),
      ),
    element("p", { class: "question-note", text: note }),
    receipt,
  );
  return view;
}

/** Resolves to undefined if the form is closed. */
function askInWords({ head, question, words: { maxFiles, fileTypes } }, me) {
  const text = element("textarea", { id: "answer-text", maxlength: "2000", autofocus: true });
  const kinds = fileTypes?.map((type) => (type.startsWith(".") ? type : `${type}/*`)).join(",");
  const files = element("input", { id: "answer-files", type: "file", multiple: maxFiles > 1, accept: kinds });
  const about = [`${maxFiles === 1 ? "A file" : `Up to ${maxFiles} files`}`, fileTypes && `(${fileTypes.join(", ")})`];
  const problem = element("p", { class: "problem", role: "alert" });
  const submit = button("Answer", { type: "submit", class: "button primary" });
  async function read() {
    problem.textContent = "";
    try {
      const attachments = [];
      for (const file of files.files) attachments.push({ upload: await uploaded(file, me) });
      return { text: text.value, attachments };
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      problem.textContent = thrown.message;
      return undefined;
    }
  }
  return openForm(
    { title: "Answer", about: `${head} “${question}”`, submit },
    read,
    ...[element("label", { for: "answer-text", text: "Your answer" }), text],
    ...(maxFiles === 0
      ? []
      : [element("label", { for: "answer-files", text: about.filter(Boolean).join(" ") }), files]),
    problem,
  );
}

async function uploaded(file, me) {
  const id = crypto.randomUUID();
  await upload(`uploads/${id}?${new URLSearchParams({ person: me.id, name: file.name })}`, file, () => {});
  return id;
}
