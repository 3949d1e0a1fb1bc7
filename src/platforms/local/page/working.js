/** The line above the composer while the agent works: the elapsed time, and the button that stops the work. */
import { element } from "./dom.js";

/** `stop()` resolves when the server has taken the order. */
export function createWorkingLine(slot, stop) {
  let since;
  // The time changes every second, so screen readers must not announce it.
  const time = element("span", { role: "timer", "aria-live": "off" });
  const button = element("button", { type: "button", class: "button small", text: "Stop", onclick: stopped });
  const line = element(
    "div",
    { class: "working", hidden: true },
    element("span", {}, "Remora is working", time),
    button,
  );
  slot.prepend(line);

  async function stopped() {
    button.disabled = true;
    button.textContent = "Stopping…";
    if (!(await stop())) ready();
  }

  function ready() {
    button.disabled = false;
    button.textContent = "Stop";
  }

  function tick() {
    if (since !== undefined) time.textContent = ` · ${elapsed(Date.now() - since)}`;
  }

  return {
    tick,
    /** `next` is when the work began; undefined if there is none. Shows no time if the messages show it. */
    show(next, isShownElsewhere) {
      time.hidden = Boolean(isShownElsewhere);
      if (next === since) return;
      since = next;
      line.hidden = since === undefined;
      ready();
      tick();
    },
  };
}

function elapsed(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
