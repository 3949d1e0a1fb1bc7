/** Renders the agent's Markdown as safe elements. Remote images become links: loading one contacts its server. */
import DOMPurify from "/local/vendor/dompurify.js";
import { Lexer, Marked } from "/local/vendor/marked.js";
import { codeBox } from "./code-blocks.js";
import { element } from "./dom.js";
import { tableBox } from "./tables.js";

function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}

/** Longer paragraphs are shown as plain text: with hostile ones, emphasis takes time that grows with the square. */
const maxParagraphCharacters = 10_000;

function lex(source, options) {
  const lexer = new Lexer(options);
  const inlineTokens = lexer.inlineTokens.bind(lexer);
  lexer.inlineTokens = (text, tokens = []) => {
    if (text.length <= maxParagraphCharacters) return inlineTokens(text, tokens);
    tokens.push({ type: "text", raw: text, text, escaped: false });
    return tokens;
  };
  return lexer.lex(source);
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  hooks: { provideLexer: () => lex },
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

/** HTML in an answer is shown as text, so only Markdown itself creates checkboxes and classes. */
const allowed = {
  ALLOWED_TAGS:
    "p br strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 hr a table thead tbody tr th td input".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "start", "align", "class", "type", "checked", "disabled"],
  // The pattern of addresses would otherwise be applied to these as well.
  ADD_URI_SAFE_ATTR: ["start", "align", "type", "checked", "disabled"],
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto):|#\/)/i,
  RETURN_DOM_FRAGMENT: true,
};

export function rendered(text, isStreaming) {
  const box = element("div", { class: isStreaming ? "markdown streaming" : "markdown", dir: "auto" });
  box.append(DOMPurify.sanitize(marked.parse(text), allowed));
  for (const link of box.querySelectorAll("a")) {
    // Links to messages of this chat open on this page.
    if (link.getAttribute("href")?.startsWith("#/")) continue;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  for (const tick of box.querySelectorAll("input")) {
    tick.setAttribute("aria-label", tick.checked ? "Done" : "Not done");
    tick.closest("li")?.classList.add("task");
  }
  for (const block of box.querySelectorAll("pre")) codeBox(block, isStreaming);
  for (const table of box.querySelectorAll("table")) tableBox(table);
  return box;
}
