/** A plugin's question, with a button for each option while it is open. Its words are in quotes, and on no button. */
import { click } from "./click.js";
import { button, element } from "./dom.js";

export function questionView(message, me) {
  const { id, head, question, options, note, isOpen } = message.question;
  const receipt = element("p", { class: "card-receipt", role: "status" });
  const pick = (option) =>
    click(view, receipt, "picks", { person: me.id, messageId: message.id, questionId: id, option });
  const view = element(
    "section",
    { class: "card plugin-question", tabindex: "-1", "aria-label": "Question of a plugin" },
    element("h3", { text: head }),
    element("blockquote", { text: `“${question}”` }),
    element("ol", {}, ...options.map((text) => element("li", { text: `“${text}”` }))),
    isOpen &&
      element(
        "div",
        { class: "card-buttons" },
        ...options.map((_text, option) => button(`Answer ${option + 1}`, { onclick: () => pick(option) })),
      ),
    element("p", { class: "question-note", text: note }),
    receipt,
  );
  return view;
}
