/** What the agent is doing, with the seconds counted here, so that they move without messages from the server. */
import { element } from "./dom.js";

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

function durationText(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
