/** What the agent is doing, with the seconds counted here, so that they move without messages from the server. */
import { durationText, element } from "./dom.js";

/** Shorter work shows no time, as in `src/ports/progress.ts`. */
const minElapsedMs = 5000;
const tickMs = 1000;

export function progressLine({ activity, activitySince, state, text }) {
  const line = activity || (state === "streaming" && text === "" ? "Working…" : "");
  if (line === "") return undefined;
  const words = element("span", { text: line });
  const root = element(
    "div",
    { class: "activity" },
    element("span", { class: "spinner", "aria-hidden": "true" }),
    words,
  );
  if (activitySince !== undefined) countSeconds(root, words, line, activitySince);
  return root;
}

/** Ends by itself when the line is replaced. */
function countSeconds(root, words, line, since) {
  const show = () => {
    const elapsed = Date.now() - since;
    words.textContent = elapsed < minElapsedMs ? line : `${line} · ${durationText(elapsed)}`;
  };
  show();
  const timer = setInterval(() => (root.isConnected ? show() : clearInterval(timer)), tickMs);
}
