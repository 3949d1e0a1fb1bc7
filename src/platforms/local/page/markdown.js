/** Renders the agent's Markdown as safe elements. Remote images become links: loading one contacts its server. */

import DOMPurify from "/local/vendor/dompurify.js";
import { Marked } from "/local/vendor/marked.js";
import { element } from "./dom.js";

function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

const allowed = {
  ALLOWED_TAGS:
    "p br strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 hr a table thead tbody tr th td".split(" "),
  ALLOWED_ATTR: ["href", "start", "align"],
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto):|#\/)/i,
  RETURN_DOM_FRAGMENT: true,
};

export function rendered(text, isStreaming) {
  const box = element("div", { class: isStreaming ? "markdown streaming" : "markdown" });
  box.append(DOMPurify.sanitize(marked.parse(text), allowed));
  for (const link of box.querySelectorAll("a")) {
    // Links to messages of this chat open on this page.
    if (link.getAttribute("href")?.startsWith("#/")) continue;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  // Scrollable blocks must be reachable by keyboard.
  for (const block of box.querySelectorAll("pre")) block.tabIndex = 0;
  return box;
}
