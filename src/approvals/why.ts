/** Why a call asks: as plain sentences for its card, as rules for whoever wants to know, and as what Allow would allow. */
import { basename, dirname } from "node:path";
import { describePattern, describeRule } from "../lib/text/describe-rule.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import type { GateMatch } from "../ports/gate.ts";
import { grantableRules } from "./grants.ts";

const maxReasonSentences = 3;

/** The skills' reasons as sentences, without rules. Undefined if no rule gives a reason. */
export function reasonSentences(matches: readonly GateMatch[]): string | undefined {
  const reasons = [...new Set(matches.flatMap(({ reason = "" }) => reason.trim() || []))];
  if (reasons.length === 0) return undefined;
  const shown = reasons.slice(0, maxReasonSentences).map(sentence);
  const more = reasons.length - shown.length;
  return [...shown, ...(more > 0 ? [`And ${more} more ${more === 1 ? "reason" : "reasons"}.`] : [])].join(" ");
}

function sentence(text: string): string {
  const [first = "", ...rest] = text;
  const whole = `${first.toLocaleUpperCase("en")}${rest.join("")}`;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** One line for each rule that asks: its skill, file, line and pattern. */
export function whyLines(matches: readonly GateMatch[]): string[] {
  return [...new Set(matches.map(whyLine))];
}

function whyLine({ skill, file, line, pattern, reason, form }: GateMatch): string {
  if (file === "") return reason ?? `Remora itself asks (${pattern}).`;
  // The rule that allows changes in advance comes from no skill.
  if (line === 0) return reason ?? pattern;
  // A pattern for a tag already implies the form.
  const variant = form === "exact" || form === "tag" ? "" : `, found in its ${form} form`;
  const place = `${basename(dirname(file))}/${basename(file)}, line ${line}`;
  const because = reason === undefined ? "" : `${reason}. `;
  return `Skill ${skill} asks: ${because}Pattern “${describePattern(pattern)}” (${place}${variant}).`;
}

/** What Allow would allow, so that a person can decide. Names a pattern only if its skill gives no reason. */
export function grantText({ matches, changes, requester }: ApprovalRecord, grantMs: number): string {
  const time = `For ${minutesText(grantMs)} in this conversation`;
  if (changes !== undefined) {
    const what = matches.map(({ reason = "" }) => reason).join(" and ");
    return `${time}: ${what} without asking, for requests by ${requester.name}.`;
  }
  const rules = (grantableRules(matches) ?? []).map(describeRule).join(" and ");
  return `${time}: run calls that ask only because of ${rules} without asking, for requests by ${requester.name}.`;
}

/** What has been allowed, for the line of a settled card: it follows `Until 14:32, without asking:`. */
export function allowedText({ matches, changes, requester }: ApprovalRecord): string {
  const reasons = [
    ...new Set(matches.map(({ reason, skill }) => (reason === undefined ? `a rule of skill ${skill}` : `“${reason}”`))),
  ];
  const what =
    changes === undefined
      ? `calls that ask only because of ${reasons.join(" and ")}`
      : matches.map(({ reason = "" }) => reason).join(" and ");
  return `${what}, for requests by ${requester.name}`;
}

export function minutesText(milliseconds: number): string {
  const minutes = Math.max(1, Math.round(milliseconds / 60_000));
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
