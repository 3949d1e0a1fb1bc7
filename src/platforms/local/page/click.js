/** A click on a card or a question: its buttons rest until it is answered, and the answer stands under them. */
import { Failure, request } from "./api.js";

export async function click(view, receipt, path, body) {
  const buttons = [...view.querySelectorAll("button")];
  for (const button of buttons) button.disabled = true;
  receipt.classList.remove("refused");
  receipt.textContent = "…";
  try {
    const { accepted, text } = await request("POST", path, body);
    receipt.textContent = text;
    receipt.classList.toggle("refused", !accepted);
    if (accepted) view.focus({ preventScroll: true });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    receipt.textContent = thrown.message;
    receipt.classList.add("refused");
  }
  for (const button of buttons) button.disabled = false;
}
