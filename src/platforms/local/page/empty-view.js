/** Suggests two things to try in a place without messages. `write` puts a text into the composer. */
import { button, element } from "./dom.js";

export function emptyView(name, isDirect, write) {
  const prefix = isDirect ? "" : "@remora ";
  const tries = [
    ["help", "see what Remora can do"],
    ["run touch hello.txt", "run a command; you can undo its changes"],
  ].map(([text, about]) =>
    button(
      undefined,
      { class: "try", onclick: () => write(prefix + text) },
      element("code", { text: prefix + text }),
      element("span", { text: about }),
    ),
  );
  return element(
    "div",
    { class: "empty" },
    element("img", { src: "/local/page/remora.svg", alt: "" }),
    element("h2", { text: isDirect ? "Just the two of you" : `This is ${name}` }),
    element("p", {
      text: isDirect
        ? "You don't need to mention Remora here. Try:"
        : "Mention the agent to get an answer in a thread. Try:",
    }),
    element("div", { class: "tries" }, ...tries),
  );
}
