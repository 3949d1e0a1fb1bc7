/**
 * Describes a turn's progress from its record: "Read 3 files · ran tests (12 s) · waiting for approval". Calls of the same
 * tool are folded into one part. If the line gets too long, the oldest parts are left out.
 */
import { lowerFirst } from "../../lib/text/lower-first.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import {
  durationText,
  maxHeadlineLength,
  maxProgressTasks,
  minElapsedMs,
  type Progress,
  type ProgressState,
  type ProgressTask,
} from "../../ports/progress.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import { type CallRecord, callsOf, type TurnRecord } from "../../ports/turn.ts";
import { manyText, toolPhrase } from "./tool-phrases.ts";

/** What the turn does besides its calls: "Thinking". */
export interface Phase {
  text: string;
  since: number;
}

export interface ProgressSource {
  turn: TurnRecord;
  specs: readonly ToolSpec[];
  phase?: Phase | undefined;
  /** What holds up a running call, by call id: "waiting for other tools", "trying again in 6 s (2 of 4)". */
  holdUps: ReadonlyMap<string, string>;
}

interface Part {
  text: string;
  isCurrent: boolean;
  since?: number;
}

const maxTitleCharacters = 80;
const separator = " · ";

export function describeProgress({ turn, specs, phase, holdUps }: ProgressSource): Progress {
  const shown = callsOf(turn).flatMap((record) => {
    const state = callState(record);
    return state === undefined ? [] : [{ record, state, spec: specs.find(({ name }) => name === record.raw.name) }];
  });
  const parts = [...doneParts(shown), ...runningParts(shown, holdUps)];
  if (phase !== undefined) parts.push({ text: phase.text, isCurrent: true, since: phase.since });
  const current = parts.findLast(({ isCurrent }) => isCurrent);
  return {
    headline: joined(parts.map(({ text }) => text)),
    ...(current === undefined ? {} : { current: oneLine(current.text, maxHeadlineLength) }),
    ...(current?.since === undefined ? {} : { since: current.since }),
    tasks: limited(shown.map((call) => taskOf(call, holdUps))),
  };
}

interface ShownCall {
  record: CallRecord;
  state: ProgressState;
  spec: ToolSpec | undefined;
}

/** Undefined for calls that have not begun, and for calls that could never run, which only the model needs to know. */
function callState({ startedAt, approvalId, result }: CallRecord): ProgressState | undefined {
  if (result !== undefined) {
    if (result.status === "invalid") return undefined;
    return result.status === "ok" ? "done" : "failed";
  }
  if (startedAt !== undefined) return "running";
  return approvalId === undefined ? undefined : "waiting";
}

function doneParts(calls: readonly ShownCall[]): Part[] {
  const groups = new Map<string, ShownCall[]>();
  for (const call of calls) {
    if (call.state !== "done" && call.state !== "failed") continue;
    const key = `${call.state} ${call.record.raw.name}`;
    const group = groups.get(key) ?? [];
    // Delete the group first, so that the newest work stands last.
    groups.delete(key);
    groups.set(key, [...group, call]);
  }
  return [...groups.values()].map((group) => ({ text: doneText(group) + totalTime(group), isCurrent: false }));
}

function doneText(group: readonly ShownCall[]): string {
  const [first] = group;
  if (first === undefined) return "";
  if (first.state === "failed") return failedText(first, group.length);
  return group.length === 1 ? titleOf(first, "done") : manyText(first.record.raw.name, first.spec, group.length);
}

const failures: Partial<Record<string, string>> = {
  denied: "was denied",
  blocked: "was blocked",
  interrupted: "was stopped",
};

/** For example "Running npm install failed", or "Running npm install and 2 more failed". */
function failedText(call: ShownCall, count: number): string {
  const outcome = failures[call.record.result?.status ?? ""] ?? "failed";
  return `${titleOf(call, "running")}${count === 1 ? "" : ` and ${count - 1} more`} ${outcome}`;
}

function totalTime(group: readonly ShownCall[]): string {
  const ms = group.reduce((sum, { record }) => sum + (record.result?.durationMs ?? 0), 0);
  return ms < minElapsedMs ? "" : ` (${durationText(ms)})`;
}

function runningParts(calls: readonly ShownCall[], holdUps: ReadonlyMap<string, string>): Part[] {
  const running = calls.filter(({ state }) => state === "running");
  const waiting = calls.filter(({ state }) => state === "waiting");
  const parts: Part[] = [];
  const [first] = running;
  // Before the running part, because the elapsed time follows the last part.
  if (waiting.length > 0) parts.push({ text: "Waiting for approval", isCurrent: first === undefined });
  if (first !== undefined) {
    const more = running.length === 1 ? "" : ` and ${running.length - 1} more`;
    const holdUp = running.length === 1 ? holdUps.get(first.record.raw.id) : undefined;
    const text = titleOf(first, "running") + more + (holdUp === undefined ? "" : `: ${holdUp}`);
    const since = Math.min(...running.map(({ record }) => record.startedAt ?? Number.POSITIVE_INFINITY));
    // The hold-up says when it goes on, so the time since the call began would mislead.
    parts.push({ text, isCurrent: true, ...(holdUp === undefined ? { since } : {}) });
  }
  return parts;
}

function titleOf({ record, spec }: ShownCall, tense: "running" | "done"): string {
  const input = record.call?.input ?? {};
  return oneLine(toolPhrase(record.raw.name, input, spec, tense), maxTitleCharacters);
}

function taskOf(call: ShownCall, holdUps: ReadonlyMap<string, string>): ProgressTask {
  const { record, state } = call;
  const detail = holdUps.get(record.raw.id) ?? (state === "waiting" ? "Waiting for approval" : undefined);
  // The title of a failed task already says what became of it.
  const shownDetail = state === "failed" ? undefined : detail;
  return {
    id: record.raw.id,
    title: state === "failed" ? failedText(call, 1) : titleOf(call, state === "done" ? "done" : "running"),
    state,
    ...(shownDetail === undefined ? {} : { detail: shownDetail }),
  };
}

/** Keeps the first tasks, whose ids people already see, and folds the others into one. */
function limited(tasks: ProgressTask[]): ProgressTask[] {
  if (tasks.length <= maxProgressTasks) return tasks;
  const kept = tasks.slice(0, maxProgressTasks - 1);
  const folded = tasks.slice(maxProgressTasks - 1);
  const newest = folded.findLast(({ state }) => state === "running") ?? folded.at(-1);
  if (newest === undefined) return kept;
  return [
    ...kept,
    { ...newest, id: "more", title: oneLine(`${folded.length} more: ${newest.title}`, maxTitleCharacters) },
  ];
}

function joined(texts: readonly string[]): string {
  const parts = texts.map((text, index) => (index === 0 ? text : lowerFirst(text)));
  const kept: string[] = [];
  let length = 0;
  for (const part of parts.toReversed()) {
    length += part.length + separator.length;
    if (length > maxHeadlineLength && kept.length > 0) {
      kept.push("…");
      break;
    }
    kept.push(part);
  }
  return oneLine(kept.toReversed().join(separator), maxHeadlineLength);
}
