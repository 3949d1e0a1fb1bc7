/** The parts of a report: one tool call, its approval, and the changes to files. */
import { describePattern } from "../lib/text/describe-rule.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { GateMatch } from "../ports/gate.ts";
import type { ToolCall } from "../ports/tool.ts";
import type { CallRecord } from "../ports/turn.ts";
import type { ApprovalReport, CallOutcome, CallReport, ChangesReport } from "../ports/turn-report.ts";
import type { ApprovalRow, ReportTexts } from "./report-texts.ts";

const maxCallCharacters = 20_000;
const maxResultCharacters = 1_500;
const maxHeadlineCharacters = 160;
const maxRules = 12;
const maxFiles = 20;

export function callReport(
  record: CallRecord,
  approval: ApprovalRow | undefined,
  { conversationId, hasEnded }: { conversationId: string; hasEnded: boolean },
  texts: ReportTexts,
): CallReport {
  const { raw, verdict, editedBy, startedAt, result } = record;
  const call = record.call ?? { id: raw.id, name: raw.name, input: {} };
  const text = record.call === undefined ? texts.lines(`${raw.name}\n${raw.inputJson}`) : texts.call(call);
  const matches = (verdict?.matches ?? []).filter(isBehind(verdict?.class)).slice(0, maxRules);
  const hasRun = startedAt !== undefined;
  // Mask the whole text before shortening it, or a part of a secret could remain.
  const whole = texts.lines((result?.text ?? "").replaceAll("\r\n", "\n"));
  const shown = shorten(whole, maxResultCharacters);
  return {
    id: raw.id,
    tool: texts.line(raw.name),
    headline: headlineOf(call, text, hasRun, conversationId, texts),
    callText: withLimit(text),
    verdict: verdictOf(verdict?.class),
    why: [...new Set(matches.map(({ reason, pattern }) => texts.line(reason ?? describePattern(pattern))))],
    rules: matches.map(({ skill, pattern, file, line }) =>
      texts.line(file === "" ? skill : `${skill}: ${pattern} (${file}:${line})`),
    ),
    ...(approval === undefined ? {} : { approval: approvalReport(approval, texts) }),
    ...(editedBy === undefined ? {} : { editedBy: texts.line(editedBy) }),
    outcome: result?.status ?? openOutcome(record, hasEnded),
    ...(record.isContained === true ? { isContained: true } : {}),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(hasRun && result !== undefined ? { durationMs: result.durationMs } : {}),
    attempts: result?.attempts ?? 0,
    result: shown,
    isResultCut: shown.length < whole.length,
    files: (result?.files ?? []).slice(0, maxFiles).map(({ name }) => texts.line(name)),
  };
}

/** What ran is told in the past tense. Without words from its skill, the call itself is shown as code. */
function headlineOf(
  call: ToolCall,
  text: string,
  hasRun: boolean,
  conversationId: string,
  { headline, done }: ReportTexts,
): string {
  const words = (hasRun ? done?.(call, conversationId) : undefined) ?? headline?.(call, conversationId);
  if (words !== undefined) return oneLine(words, maxHeadlineCharacters);
  return `\`${oneLine(text.replace(/\n\s*/g, " ").replaceAll("`", "'"), maxHeadlineCharacters)}\``;
}

/** A blocked call lists only the rules that blocked it. */
function isBehind(verdict: string | undefined): (match: GateMatch) => boolean {
  return ({ kind }) => verdict !== "block" || kind === "danger";
}

function verdictOf(verdict: "safe" | "confirm" | "block" | undefined): CallReport["verdict"] {
  if (verdict === undefined) return "not-judged";
  return ({ safe: "allowed", confirm: "asked", block: "blocked" } as const)[verdict];
}

function openOutcome({ startedAt, approvalId }: CallRecord, hasEnded: boolean): CallOutcome {
  if (startedAt !== undefined) return hasEnded ? "interrupted" : "running";
  if (hasEnded) return "not-run";
  return approvalId === undefined ? "running" : "waiting";
}

function withLimit(text: string): string {
  if (text.length <= maxCallCharacters) return text;
  const shown = shorten(text, maxCallCharacters);
  return `${shown}\n(${formatNumber(text.length - shown.length + 1)} characters more)`;
}

function approvalReport({ state, body }: ApprovalRow, texts: ReportTexts): ApprovalReport {
  const { votes, decidedBy, decidedAt, createdAt, grantIds, reason } = body;
  const voters = votes.map(({ by, at, isOperator }) => ({
    name: texts.line(by.name),
    at,
    isOperator: isOperator === true,
  }));
  const denier =
    state === "denied" && decidedBy !== undefined
      ? [{ name: texts.line(decidedBy.name), at: decidedAt ?? createdAt, isOperator: false }]
      : [];
  const at = decidedAt ?? votes.at(-1)?.at;
  return {
    state: state === "consumed" ? "approved" : state,
    askedAt: createdAt,
    ...(state === "open" || at === undefined ? {} : { decidedAt: at }),
    by: state === "denied" ? denier : voters,
    isInAdvance: grantIds.length > 0,
    ...(reason === undefined ? {} : { reason: texts.line(reason) }),
  };
}

export function changesReport({ state, body }: ApprovalRow, texts: ReportTexts): ChangesReport | undefined {
  const { changes, decidedBy, decidedAt } = body;
  if (changes === undefined) return undefined;
  const { shown, kind, result = "", undoId } = changes;
  const isKept = kind === "report" || undoId !== undefined || (state === "consumed" && result.startsWith("Kept"));
  const isOpen = state === "open" || (state === "approved" && !isKept);
  const reason = body.reason === undefined ? "" : texts.line(body.reason);
  return {
    title: texts.line(shown.title),
    state: isKept ? "kept" : isOpen ? "waiting" : "discarded",
    ...(decidedBy === undefined || kind === "report" ? {} : { by: texts.line(decidedBy.name) }),
    ...(decidedAt === undefined || kind === "report" ? {} : { decidedAt }),
    result: texts.line(result) || reason,
    files: shown.files.map((file) => ({ ...file, path: texts.line(file.path), detail: texts.line(file.detail) })),
    moreFiles: shown.moreFiles,
    ...(shown.moreWarned === undefined ? {} : { moreWarned: shown.moreWarned }),
  };
}
