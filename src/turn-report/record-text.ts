/**
 * Tells what a turn did, as Markdown for people. `readers` may read the conversation, but results can come from elsewhere, such
 * as a channel that only the requester sees. So only the requester and the operator see results.
 */
import { counted } from "../lib/text/counted.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { formatDollars, tokensText } from "../lib/text/format-usage.mjs";
import { namesText } from "../lib/text/names-text.ts";
import { codeSpan, oneLine } from "../lib/text/sanitize.ts";
import { headlineParts } from "../ports/card.ts";
import type { CallReport, ChangesReport, TurnReport } from "../ports/turn-report.ts";
import { clock, duration } from "./amounts.ts";

export interface RecordView {
  withResults: boolean;
  withCost: boolean;
}

const maxResultCharacters = 160;
const maxReasonCharacters = 200;
const maxOthers = 6;
const maxFiles = 6;

/** The short form: one line for each call. */
export function recordText(report: TurnReport, view: RecordView): string {
  return [
    headText(report, view),
    ...callLines(report, view),
    ...report.changes.map(changesText),
    ...closing(report, view),
  ].join("\n");
}

/** The complete form, with whole calls and longer results, for a file. */
export function recordFile(report: TurnReport, view: RecordView): string {
  const calls = report.steps.flatMap((step) => step.calls);
  const sections = calls.map((call, index) =>
    [
      `## ${index + 1}. ${callText(call, { ...view, withResults: false })}`,
      fenced(call.callText),
      ...(view.withResults && call.result !== ""
        ? [call.isResultCut ? "Result (the beginning):" : "Result:", fenced(call.result)]
        : []),
    ].join("\n\n"),
  );
  const changes = report.changes.flatMap((change) => [
    changesText(change),
    ...change.files.map(({ action, path, detail, warning = "" }) =>
      [`  - ${action} ${codeSpan(path)}`, detail, warning].filter((part) => part !== "").join(" "),
    ),
  ]);
  return [headText(report, view), ...sections, ...changes, ...closing(report, view)].join("\n\n");
}

/** True if the short form leaves out a part of a call. */
export function isShortened(report: TurnReport): boolean {
  return report.steps.some(({ calls }) => calls.some(({ headline }) => headline.includes("…")));
}

function headText(report: TurnReport, { withCost }: RecordView): string {
  const { requester, startedAt, workedMs, waitedMs, waitedFor, cost, unpricedSteps, state } = report;
  const who = waitedFor.length === 0 ? "" : ` for ${namesText(waitedFor.map(literal))}`;
  const amounts = [
    duration(workedMs),
    ...(waitedMs < 1_000 ? [] : [`waited ${duration(waitedMs)}${who}`]),
    ...(withCost && cost !== undefined && cost > 0
      ? [unpricedSteps === 0 ? formatDollars(cost) : `at least ${formatDollars(cost)}`]
      : []),
  ];
  const did = state === "running" || state === "parked" ? "What I have done so far" : "What I did";
  return `**${did} for ${literal(requester.name)}** at ${clock(startedAt)} (${amounts.join(", ")})`;
}

function callLines({ steps }: TurnReport, view: RecordView): string[] {
  const calls = steps.flatMap((step) => step.calls);
  if (calls.length === 0) return ["I used no tools."];
  return calls.map((call, index) => `${index + 1}. ${callText(call, view)}`);
}

function callText(call: CallReport, view: RecordView): string {
  const attempts = call.attempts > 1 ? `, after ${call.attempts} attempts` : "";
  const took = call.durationMs === undefined ? "" : ` (${duration(call.durationMs)}${attempts})`;
  const parts = [
    `${headlineText(call.headline)}${took}.`,
    ...whyText(call),
    ...approvalText(call),
    ...(call.editedBy === undefined ? [] : [`${literal(call.editedBy)} changed it first.`]),
    ...outcomeText(call),
    ...resultText(call, view),
  ];
  return parts.join(" ").replaceAll(" \n", "\n");
}

/** Values are code, and words can't format. */
function headlineText(headline: string): string {
  return headlineParts(headline)
    .map(({ text, kind }) => (kind === "code" ? codeSpan(text) : literal(text)))
    .join("");
}

function whyText({ verdict, why }: CallReport): string[] {
  if (verdict !== "asked" && verdict !== "blocked") return [];
  const reasons = why.map((reason) => codeSpan(oneLine(reason, maxReasonCharacters).replace(/\.$/, ""))).join(", ");
  if (verdict === "blocked")
    return [reasons === "" ? "**Blocked.**" : `**Blocked**: this is never allowed (${reasons}).`];
  return [reasons === "" ? "I asked first." : `I asked first, because: ${reasons}.`];
}

function approvalText({ approval }: CallReport): string[] {
  if (approval === undefined) return [];
  const { state, by, decidedAt, isInAdvance, reason } = approval;
  const who = namesText(by.map(({ name }) => literal(name)));
  const at = decidedAt === undefined ? "" : ` at ${clock(decidedAt)}`;
  const because = reason === undefined ? "" : `: ${codeSpan(oneLine(reason, maxReasonCharacters))}`;
  switch (state) {
    case "open":
      return [who === "" ? "Nobody has answered yet." : `${who} approved; more approvals are needed.`];
    case "approved":
      return [isInAdvance ? `${who} had allowed it in advance.` : `${who || "Somebody"} approved${at}.`];
    case "denied":
      return [`${who === "" ? "It was denied" : `${who} denied it`}${at}${because}.`];
    case "expired":
      return [`Nobody answered in time${at === "" ? "" : `, until ${clock(decidedAt ?? 0)}`}.`];
    case "cancelled":
      return [`The request was cancelled${at}${because}.`];
    default:
      return state satisfies never;
  }
}

function outcomeText({ outcome, verdict, isContained }: CallReport): string[] {
  switch (outcome) {
    case "ok":
      return [];
    case "failed":
      return ["It failed."];
    case "interrupted":
      if (isContained === true) return ["It was stopped before it ended, and changed nothing."];
      return ["It was interrupted, and I don't know whether it took effect."];
    case "invalid":
      return ["It did not run, because the call was not valid."];
    case "denied":
    case "not-run":
      return ["It did not run."];
    case "blocked":
      return verdict === "blocked" ? [] : ["It did not run."];
    case "waiting":
      return ["It is waiting for an answer."];
    case "running":
      return ["It is running."];
    default:
      return outcome satisfies never;
  }
}

function resultText({ result, startedAt, files }: CallReport, { withResults }: RecordView): string[] {
  const sent =
    files.length === 0 ? [] : [`It made ${namesText(files.slice(0, maxFiles).map((name) => codeSpan(name)))}.`];
  if (!withResults || startedAt === undefined || result.trim() === "") return sent;
  return [...sent, `\n   Result: ${codeSpan(oneLine(result, maxResultCharacters))}`];
}

function changesText({ title, state, by, decidedAt, result }: ChangesReport): string {
  const at = decidedAt === undefined ? "" : ` at ${clock(decidedAt)}`;
  const who = by === undefined ? "" : ` by ${literal(by)}`;
  const then = / then undone by .*$/.exec(result)?.[0] ?? "";
  const ending = {
    waiting: "waiting for an answer",
    kept: `kept${who}${at}${then === "" ? "" : `,${literal(then)}`}`,
    discarded: `not kept${result === "" ? "" : ` (${oneLine(result, maxReasonCharacters)})`}`,
  }[state];
  return `- Files: ${codeSpan(title)} — ${ending.replace(/\.$/, "")}.`;
}

function closing({ othersTexts, failure, state, steps, tokens }: TurnReport, { withCost }: RecordView): string[] {
  const others = othersTexts.slice(0, maxOthers).map((text) => codeSpan(text));
  const more = othersTexts.length > maxOthers ? ` and ${othersTexts.length - maxOthers} more` : "";
  const models = [...new Set(steps.map(({ model }) => model))].map((model) => codeSpan(model));
  const usages = steps.map(({ usage }) => usage);
  const used = withCost && tokens > 0 ? `. Tokens: ${tokensText(usages, formatNumber)}` : "";
  return [
    ...(failure === undefined
      ? []
      : [`- ${state === "stopped" ? "It was stopped" : "It failed"}: ${codeSpan(failure)}`]),
    ...(others.length === 0 ? [] : [`- I had also read: ${others.join(", ")}${more}.`]),
    ...(models.length === 0 ? [] : [`- Model: ${namesText(models)}, ${counted(steps.length, "request")}${used}.`]),
  ];
}

/** A name can't format, link or mention. */
function literal(name: string): string {
  return name.replace(/[\\`*_~[\]<>|#@]|:(?=\/\/)/g, "\\$&");
}

function fenced(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}
