/** The quiet line under an answer, such as `4 actions · 1 approved by Ben · 9 s, waited 3 s for Ben · $0.03`. */
import { counted } from "../lib/text/counted.ts";
import { formatDollars } from "../lib/text/format-usage.mjs";
import { namesText } from "../lib/text/names-text.ts";
import type { CallReport, TurnReport } from "../ports/turn-report.ts";
import { duration } from "./amounts.ts";

export interface FooterSettings {
  /** `auto` leaves the line out under a quick answer for which nothing was done. */
  footer: "auto" | "always" | "off";
  cost: boolean;
}

/** An answer without calls that took longer than this says how long. */
const minWorthMs = 10_000;
const minWaitMs = 1_000;
const maxNames = 2;
const maxNameCharacters = 30;

/** Empty if nothing is worth saying. */
export function footerLine(report: TurnReport, settings: FooterSettings): string {
  const calls = report.steps.flatMap((step) => step.calls);
  const isPlain = calls.length === 0 && report.workedMs < minWorthMs;
  if (settings.footer === "off" || (settings.footer === "auto" && isPlain)) return "";
  // A call that could never run is no action. Models also say that they have done what they have not.
  const actions = calls.filter(({ outcome }) => outcome !== "invalid").length;
  const one = actions === 1;
  const parts = [
    actions === 0 ? "no actions" : counted(actions, "action"),
    ...decisionsText(calls, one),
    ...count(calls, ({ outcome }) => outcome === "blocked", "blocked", one),
    ...count(calls, ({ outcome }) => outcome === "failed", "failed", one),
    ...count(calls, ({ outcome }) => outcome === "interrupted", "interrupted", one),
    timeText(report),
    ...(settings.cost && report.cost !== undefined && report.cost > 0 ? [formatDollars(report.cost)] : []),
  ];
  return parts.join(" · ");
}

/** With a single call, its number says nothing. */
function decisionsText(calls: readonly CallReport[], one: boolean): string[] {
  const inState = (state: string) => calls.filter(({ approval }) => approval?.state === state);
  const approved = inState("approved");
  const byPeople = approved.filter(({ approval }) => approval?.isInAdvance === false);
  return [
    ...decided(byPeople, "approved", one),
    ...count(approved, ({ approval }) => approval?.isInAdvance === true, "allowed in advance", one),
    ...decided(inState("denied"), "denied", one),
    ...count(inState("expired"), () => true, "not answered", one),
  ];
}

function decided(calls: readonly CallReport[], word: string, one: boolean): string[] {
  if (calls.length === 0) return [];
  const names = [...new Set(calls.flatMap(({ approval }) => approval?.by.map(({ name }) => name) ?? []))];
  const shown = names.slice(0, maxNames).map((name) => shortName(name));
  const who = names.length > maxNames ? [...shown, `${names.length - maxNames} more`] : shown;
  return [`${one ? "" : `${calls.length} `}${word}${who.length === 0 ? "" : ` by ${namesText(who)}`}`];
}

function count(
  calls: readonly CallReport[],
  test: (call: CallReport) => boolean,
  word: string,
  one: boolean,
): string[] {
  const found = calls.filter(test).length;
  return found === 0 ? [] : [one ? word : `${found} ${word}`];
}

/** Waiting for people is not work. */
function timeText({ workedMs, waitedMs, waitedFor }: TurnReport): string {
  if (waitedMs < minWaitMs) return duration(workedMs);
  const who = waitedFor.length === 0 ? "" : ` for ${namesText(waitedFor.slice(0, maxNames).map(shortName))}`;
  return `${duration(workedMs)}, waited ${duration(waitedMs)}${who}`;
}

function shortName(name: string): string {
  const characters = Array.from(name);
  return characters.length <= maxNameCharacters ? name : `${characters.slice(0, maxNameCharacters - 1).join("")}…`;
}
