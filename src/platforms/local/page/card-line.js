/** The first line of a card's item, and the one line of a settled one. Arguments are text, never markup. */
import { element, timeOf } from "./dom.js";

const marks = { approved: "✅", consumed: "✅", denied: "❌", expired: "⌛", cancelled: "⏹️" };
const words = {
  approved: "Approved",
  consumed: "Approved",
  denied: "Denied",
  expired: "Nobody answered in time",
  cancelled: "Cancelled",
};

/** Pairs of backticks mark code. */
export function lineParts(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, index) => (index % 2 === 1 ? element("code", { text: part }) : part)).filter(Boolean);
}

/** Cards of earlier versions have no headline. */
export function headlineOf({ headline, changes, tool }) {
  return headline ?? changes?.title ?? tool;
}

export function settledLine({ state, choices, outcome, settledAt, grant }) {
  // What can run again was approved, but could not be kept.
  const mark = choices.includes("again") ? "⚠️" : marks[state];
  return [
    element(
      "p",
      { class: `outcome ${state}` },
      element("span", { "aria-hidden": "true", text: `${mark} ` }),
      element("span", {}, ...lineParts(outcome ?? words[state])),
      settledAt !== undefined && " · ",
      settledAt !== undefined && timeOf(settledAt, false),
    ),
    grant !== undefined && element("p", {}, "Until ", timeOf(grant.until, false), `, ${grant.text}.`),
  ];
}
