/** The quiet line under an answer, such as `▸ 4 steps · 2 tools · 1 approved by Ben · 9 s · $0.03`. */
import { formatDollars } from "../lib/text/format-dollars.ts";
import type { CallReport, TurnReport } from "../ports/turn-report.ts";
import { counted, duration, namesText } from "./amounts.ts";

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
  const parts = [
    counted(report.steps.length, "step"),
    ...toolsText(calls),
    ...decisionsText(calls),
    ...count(calls, ({ outcome }) => outcome === "blocked", "blocked"),
    ...count(calls, ({ outcome }) => outcome === "failed", "failed"),
    ...count(calls, ({ outcome }) => outcome === "interrupted", "interrupted"),
    timeText(report),
    ...(settings.cost && report.cost !== undefined && report.cost > 0 ? [formatDollars(report.cost)] : []),
  ];
  return `▸ ${parts.join(" · ")}`;
}

function toolsText(calls: readonly CallReport[]): string[] {
  const ran = calls.filter(({ startedAt }) => startedAt !== undefined).length;
  return ran === 0 ? [] : [counted(ran, "tool")];
}

function decisionsText(calls: readonly CallReport[]): string[] {
  const inState = (state: string) => calls.filter(({ approval }) => approval?.state === state);
  const approved = inState("approved");
  const byPeople = approved.filter(({ approval }) => approval?.isInAdvance === false);
  return [
    ...decided(byPeople, "approved"),
    ...count(approved, ({ approval }) => approval?.isInAdvance === true, "allowed in advance"),
    ...decided(inState("denied"), "denied"),
    ...count(inState("expired"), () => true, "not answered"),
  ];
}

function decided(calls: readonly CallReport[], word: string): string[] {
  if (calls.length === 0) return [];
  const names = [...new Set(calls.flatMap(({ approval }) => approval?.by.map(({ name }) => name) ?? []))];
  const shown = names.slice(0, maxNames).map((name) => shortName(name));
  const who = names.length > maxNames ? [...shown, `${names.length - maxNames} more`] : shown;
  return [`${calls.length} ${word}${who.length === 0 ? "" : ` by ${namesText(who)}`}`];
}

function count(calls: readonly CallReport[], test: (call: CallReport) => boolean, word: string): string[] {
  const found = calls.filter(test).length;
  return found === 0 ? [] : [`${found} ${word}`];
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
