/** A tool's question, with a button for each option while the question is open. */
import { click } from "./click.js";
import { button, element } from "./dom.js";

export function questionView(message, me) {
  const { id, tool, question, options, requesterName, outcome } = message.question;
  const isOpen = outcome === undefined;
  const receipt = element("p", { class: "card-receipt", role: "status" });
  const pick = (option) =>
    click(view, receipt, "picks", { person: me.id, messageId: message.id, questionId: id, option });
  const view = element(
    "section",
    { class: isOpen ? "card waiting" : "card", tabindex: "-1", "aria-label": "Question" },
    element("div", { class: "card-head" }, element("h3", { text: `${tool} asks` })),
    element(
      "div",
      { class: "card-item" },
      element("p", { class: "question", text: question }),
      isOpen &&
        element(
          "div",
          { class: "card-buttons" },
          ...options.map((text, option) => button(text, { onclick: () => pick(option) })),
        ),
      !isOpen && element("p", { class: "outcome", text: outcome }),
    ),
    element("div", { class: "card-foot" }, element("span", { text: `Requested by ${requesterName}` }), receipt),
  );
  return view;
}
