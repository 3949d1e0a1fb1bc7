/** The line above the composer while the agent works: the elapsed time, and the button that stops the work. */
import { button, durationText, element } from "./dom.js";

/** `stop()` resolves when the server has taken the order. */
export function createWorkingLine(slot, stop) {
  let since;
  // The time changes every second, so screen readers must not announce it.
  const time = element("span", { role: "timer", "aria-live": "off" });
  const stopButton = button("Stop", { class: "button small", onclick: stopped });
  const line = element(
    "div",
    { class: "working", hidden: true },
    element("span", {}, "Remora is working", time),
    stopButton,
  );
  slot.prepend(line);

  async function stopped() {
    stopButton.disabled = true;
    stopButton.textContent = "Stopping…";
    if (!(await stop())) ready();
  }

  function ready() {
    stopButton.disabled = false;
    stopButton.textContent = "Stop";
  }

  function tick() {
    if (since !== undefined) time.textContent = ` · ${durationText(Date.now() - since)}`;
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
