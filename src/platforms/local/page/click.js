/** Answers a card or question: disables its buttons until the receipt arrives, then shows the receipt below them. */
import { Failure, request } from "./api.js";

/** Resolves to the receipt, or to undefined on failure. The caller shows a receipt's file. */
export async function click(view, receipt, path, body) {
  // The view may be replaced before the receipt arrives.
  const place = view.parentElement;
  const buttons = [...view.querySelectorAll("button")];
  for (const button of buttons) button.disabled = true;
  receipt.classList.remove("refused");
  receipt.textContent = "…";
  let answer;
  try {
    answer = await request("POST", path, body);
    const { accepted, text, file } = answer;
    receipt.textContent = file === undefined ? text : "";
    receipt.classList.toggle("refused", !accepted);
    if (accepted && file === undefined && isFree(place))
      place.querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    receipt.textContent = thrown.message;
    receipt.classList.add("refused");
  }
  for (const button of buttons) button.disabled = false;
  return answer;
}

/** A person who writes somewhere else meanwhile keeps the focus there. */
function isFree(place) {
  return document.activeElement === document.body || place.contains(document.activeElement);
}
