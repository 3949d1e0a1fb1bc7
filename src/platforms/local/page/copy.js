/** A button that copies a text and says so. */
import { element, iconButton } from "./dom.js";

const shownMs = 2_000;

export function copyButton(label, text) {
  const told = element("span", { class: "copy-told", role: "status" });
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      told.textContent = "Copied";
    } catch {
      told.textContent = "Couldn't copy. Select the text instead.";
    }
    setTimeout(() => told.replaceChildren(), shownMs);
  }
  return element("span", { class: "copy" }, told, iconButton(label, "copy", copy));
}
