/** The banner at the top of the page, for failures and a lost connection. */
import { Failure } from "./api.js";
import { byId } from "./dom.js";

const shownMs = 6_000;

/** Resolves to false if the work failed and the banner says why. */
export async function attempt(work) {
  try {
    await work();
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    showBanner(thrown.message);
    setTimeout(() => showBanner(""), shownMs);
    return false;
  }
}

/** For a dialog: resolves to what went wrong, or "". The dialog stays open with the sentence. */
export function problemOf(work) {
  return async (value) => {
    try {
      await work(value);
      return "";
    } catch (thrown) {
      if (thrown instanceof Failure) return thrown.message;
      throw thrown;
    }
  };
}

export function showBanner(text) {
  const banner = byId("banner");
  banner.textContent = text;
  banner.hidden = text === "";
}
