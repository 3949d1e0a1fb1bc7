/**
 * Renders the text of a task file. Foreign text is in code fences that are longer than any run of backticks in it.
 * Secrets are redacted and invisible characters spelled out. So none of it can look like text that Remora wrote.
 */
import type { Redact } from "../../lib/redact.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import type { JsonObject } from "../../ports/message.ts";
import { type CallRecord, callsOf, requesterOf, type TurnRecord, type TurnState } from "../../ports/turn.ts";

const previewCharacters = { task: 2_000, input: 4_000, output: 1_000 };

const statusWords: Record<TurnState, string> = {
  running: "RUNNING",
  parked: "WAITING FOR APPROVAL",
  done: "DONE",
  failed: "FAILED",
  stopped: "STOPPED",
};

const statusLine = (word: string) => `**Status:** ${word}`;
const runningLine = /^\*\*Status:\*\* RUNNING$/m;

/** No foreign text can come before the status. */
export function saysRunning(head: string): boolean {
  return runningLine.test(head);
}

export function markedInterrupted(text: string): string {
  const note = "The process ended while this was running. A step without an outcome may have taken effect.";
  return text.replace(runningLine, () => `${statusLine("INTERRUPTED")}\n\n${note}`);
}

export interface TaskPlace {
  requesterId: string;
  conversationId: string;
}

/** Reads the person and conversation from the start of a task file. Undefined if people have changed those lines. */
export function placeOfTask(head: string): TaskPlace | undefined {
  // The id is the last code span of its line, because a name before it may contain anything but a line end.
  const [, , requesterId] = /^- \*\*For:\*\* .*\((`+) ?((?:(?!\1).)+?) ?\1\)$/m.exec(head) ?? [];
  const [, , conversationId] = /^- \*\*Conversation:\*\* (`+) ?(.+?) ?\1$/m.exec(head) ?? [];
  return requesterId === undefined || conversationId === undefined ? undefined : { requesterId, conversationId };
}

export function renderTask(turn: TurnRecord, state: TurnState, redact: Redact): string {
  const requester = requesterOf(turn);
  const said = turn.messages.map((message) => message.text).join("\n\n");
  const ended = turn.endedAt === undefined ? [] : [`- **Ended:** ${timeOf(turn.endedAt)}`];
  const failure = turn.failure === undefined ? [] : [`- **Why it ended:** ${codeSpan(redact(turn.failure))}`];
  const steps = callsOf(turn).map((record, index) => renderStep(record, index + 1, state, redact));
  return [
    `# Task ${codeSpan(turn.id)}`,
    "",
    statusLine(statusWords[state]),
    "",
    `- **For:** ${codeSpan(redact(requester.name))} (${codeSpan(requester.id)})`,
    `- **Conversation:** ${codeSpan(turn.conversationId)}`,
    `- **Started:** ${timeOf(turn.startedAt)}`,
    ...ended,
    ...failure,
    "",
    "## Task",
    "",
    fenced("text", preview(redact(said), previewCharacters.task)),
    "",
    ...steps,
  ].join("\n");
}

function renderStep(record: CallRecord, number: number, state: TurnState, redact: Redact): string {
  const { result, startedAt } = record;
  const input = record.call === undefined ? redact(record.raw.inputJson) : jsonOf(record.call.input, redact);
  const lines = [
    `## ${number}. ${codeSpan(redact(record.call?.name ?? record.raw.name))}: ${outcomeOf(record, state)}`,
    "",
    ...gateLines(record, redact),
    ...(record.editedBy === undefined ? [] : [`- **Arguments changed by:** ${codeSpan(redact(record.editedBy))}`]),
    ...(startedAt === undefined ? [] : [`- **Started:** ${timeOf(startedAt)}`]),
    ...(result === undefined
      ? []
      : [`- **Duration:** ${durationOf(result.durationMs)}`, `- **Attempts:** ${result.attempts}`]),
    ...(result?.files ?? []).map((file) => `- **File:** ${codeSpan(redact(file.name))}`),
    "- **Arguments:**",
    "",
    fenced("json", preview(input, previewCharacters.input)),
    "",
  ];
  if (result === undefined) return lines.join("\n");
  const output = preview(redact(result.text), previewCharacters.output);
  return [...lines, "- **Output:**", "", fenced("text", output), ""].join("\n");
}

function outcomeOf({ result, approvalId, startedAt }: CallRecord, state: TurnState): string {
  if (result !== undefined) return result.status;
  if (state !== "running" && state !== "parked") return "not run";
  if (startedAt !== undefined) return "started";
  return approvalId === undefined ? "planned" : "waiting for approval";
}

function gateLines({ verdict }: CallRecord, redact: Redact): string[] {
  if (verdict === undefined) return [];
  const reasons = verdict.matches.map((match) => codeSpan(redact(match.reason ?? `${match.skill}: ${match.pattern}`)));
  return [`- **Gate:** ${verdict.class}${reasons.length === 0 ? "" : `, because of ${reasons.join(", ")}`}`];
}

/** Redacts values before JSON escapes them, and then the complete text, because a secret may span several values. */
function jsonOf(input: JsonObject, redact: Redact): string {
  const clean = (_key: string, value: unknown) => (typeof value === "string" ? redact(value) : value);
  return redact(JSON.stringify(input, clean, 2));
}

function preview(text: string, characters: number): string {
  if (text.length <= characters) return text;
  // Do not cut a surrogate pair in half.
  const cut = text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut}\n… (${formatNumber(text.length - cut.length)} characters more)`;
}

function fenced(language: string, text: string): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${visible(text)}\n${fence}`;
}

function codeSpan(text: string): string {
  const line = visible(text.replace(/\s+/g, " ").trim());
  const ticks = "`".repeat(longestRun(line) + 1);
  const gap = line === "" || line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${ticks}${gap}${line}${gap}${ticks}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

/** Spells out characters that can hide or reorder text. Keeps ZWJ and ZWNJ, which emoji and several scripts need. */
function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(
      /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu,
      (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
    );
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

function durationOf(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
