/** Why a call asks: as plain sentences for its card, and as rules on request. Also says what Allow would allow. */

import { basename, dirname } from "node:path";
import { describePattern, describeRule } from "../lib/text/describe-rule.ts";
import { sentence } from "../lib/text/sentence.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import { maxShownFiles, riskLead } from "../ports/card.ts";
import { reachesNetwork } from "../ports/containment.ts";
import type { GateMatch } from "../ports/gate.ts";
import { grantableRules } from "./grants.ts";

const maxReasonSentences = 3;

/** The reasons as sentences, without rules. Undefined if no rule gives one. Leaves out what the facts of a card say better. */
export function reasonSentences(matches: readonly GateMatch[], facts: readonly string[] = []): string | undefined {
  const isSaid = ({ reason }: GateMatch) => reason === reachesNetwork && facts.length > 0;
  const shownMatches = matches.filter((match) => !isSaid(match));
  const reasons = [...new Set(shownMatches.flatMap(({ reason = "" }) => reason.trim() || []))];
  if (reasons.length === 0) return undefined;
  const shown = reasons.slice(0, maxReasonSentences).map(sentence);
  const more = reasons.length - shown.length;
  const text = [...shown, ...(more > 0 ? [`And ${more} more ${more === 1 ? "reason" : "reasons"}.`] : [])].join(" ");
  // Only skills warn of risks. Remora itself also asks because of the settings.
  return shownMatches.some(({ file, reason }) => file !== "" && reason !== undefined) ? `${riskLead} ${text}` : text;
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
export function grantText(record: ApprovalRecord, grantMs: number): string {
  const limits = record.changes === undefined ? "" : ` ${changesLimits}`;
  return `For ${minutesText(grantMs)}, ${allowedText(record)}.${limits}`;
}

const changesLimits = `It still asks about files that can run by themselves, links, permissions, what is not text, deleting more than 20 files or half of a folder, and more than ${maxShownFiles} files at once.`;

/** What has been allowed, after a time such as `Until 14:32, `. */
export function allowedText({ matches, changes, requester: { name } }: ApprovalRecord): string {
  const reasons = [...new Set(matches.map(({ reason = "" }) => reason))].filter((reason) => reason !== "");
  if (changes !== undefined) return `Remora won't ask again here to ${reasons.join(" and ")}, when ${name} asks for it`;
  const rules = [
    ...reasons.filter((reason) => !/[.!?]$/.test(reason)),
    ...(grantableRules(matches) ?? [])
      .filter(({ reason }) => reason === undefined || /[.!?]$/.test(reason))
      .map((rule) => `matches ${describeRule(rule)}`),
  ];
  return `Remora won't ask again here when a call for ${name} only ${rules.join(" and ")}`;
}

export function minutesText(milliseconds: number): string {
  const minutes = Math.max(1, Math.round(milliseconds / 60_000));
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
