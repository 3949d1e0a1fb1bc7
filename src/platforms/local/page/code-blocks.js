/** Code blocks of answers: a button that copies the code, and colours once the message is complete. */
import DOMPurify from "/local/vendor/dompurify.js";
import { copyButton } from "./copy.js";
import { element } from "./dom.js";

/** Longer code is shown without colours, because colouring it would make the page wait. */
const maxColouredCharacters = 50_000;
/** Loaded with the first block that names its language. */
let library;

export function codeBox(block, isStreaming) {
  const code = block.querySelector("code") ?? block;
  const box = element("div", { class: "code-box" });
  block.replaceWith(box);
  // Scrollable blocks must be reachable by keyboard.
  block.tabIndex = 0;
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", "Code");
  box.append(block);
  if (isStreaming) return;
  box.append(copyButton("Copy the code", () => code.textContent));
  const language = /(?:^|\s)language-(\S+)/.exec(code.className)?.[1];
  if (language !== undefined && code.textContent.length <= maxColouredCharacters) colour(code, language.toLowerCase());
}

async function colour(code, language) {
  try {
    library ??= import("/local/vendor/highlight.js");
    const { default: highlight } = await library;
    if (highlight.getLanguage(language) === undefined) return;
    const { value } = highlight.highlight(code.textContent, { language, ignoreIllegals: true });
    const only = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };
    code.replaceChildren(DOMPurify.sanitize(value, only));
  } catch {
    // Without colours, the code is still complete. The next block tries again.
    library = undefined;
  }
}
