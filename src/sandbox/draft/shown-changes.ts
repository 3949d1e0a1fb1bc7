/** Describes the effects of a draft for a card: counts, files, the commands of its turns, and a short diff. */

import { basename } from "node:path";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { upperFirst } from "../../lib/text/sentence.ts";
import { shorten, shortenStart } from "../../lib/text/shorten.ts";
import { maxShownFiles, type ShownChange, type ShownChanges } from "../../ports/card.ts";
import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { JsonObject } from "../../ports/message.ts";
import type { ToolResult } from "../../ports/tool.ts";
import { callsOf } from "../../ports/turn.ts";
import type { Effect, Effects } from "../effects/effect.ts";
import type { RawPath } from "../effects/raw-path.ts";
import { warningOf } from "./autorun-files.ts";
import { callKeyOf, type DraftStore } from "./draft-store.ts";
import { filesText, folderPhrase } from "./keep-draft.ts";

const maxListedCommands = 12;
const maxCommandCharacters = 300;
const maxOutputCharacters = 600;

export interface ShownInput {
  draft: DraftRecord;
  effects: Effects;
  /** Of `findAutorunFiles`. */
  autorun: ReadonlySet<RawPath>;
  files: readonly Effect[];
  end: DraftEnd;
  summary: string;
  diff: string | undefined;
  ran: readonly RanCall[];
}

/** A command, or a call of another tool that changed files: then its name and the paths that it names. */
export interface RanCall {
  text: string;
  isCommand: boolean;
  result: ToolResult;
}

export function describeChanges({ draft, effects, autorun, files, end, summary, diff, ran }: ShownInput): ShownChanges {
  const isUnfinished = end !== "done";
  return {
    title: `${folderTitle(draft)}: ${countsText(effects)}`,
    headline: `${todoText(effects)} in ${folderPhrase(draft)}`,
    summary,
    files: files.map((effect) => describeEffect(effect, autorun)),
    ...hiddenFiles(effects, autorun, files),
    ...shownCalls(ran),
    ...(diff === undefined ? {} : { diff }),
    labels: isUnfinished ? { approve: "Keep", deny: "Discard" } : { approve: "Approve", deny: "Deny" },
  };
}

/** Describes changes that were kept before a crash. Only their count is known. */
export function describeKept(draft: DraftRecord, count: number): ShownChanges {
  return {
    title: `${folderTitle(draft)}: ${filesText(count)} changed`,
    summary: "",
    files: [],
    moreFiles: 0,
    commands: [],
    labels: { approve: "Approve", deny: "Deny" },
  };
}

function folderTitle({ kind, folder }: Pick<DraftRecord, "kind" | "folder">): string {
  return kind === "own" ? "Working folder" : basename(folder);
}

function countsText({ totals }: Pick<Effects, "totals">): string {
  const counts = [
    [totals.deleted, "deleted"],
    [totals.changed, "changed"],
    [totals.added, "added"],
  ] as const;
  const parts = counts.flatMap(([count, word]) => (count === 0 ? [] : [{ count, word }]));
  return parts
    .map(({ count, word }, index) => (index === 0 ? `${filesText(count)} ${word}` : `${formatNumber(count)} ${word}`))
    .join(", ");
}

/** For example `Delete 1, change 2 and add 3 files`. */
function todoText({ totals }: Pick<Effects, "totals">): string {
  const todo = [
    [totals.deleted, "delete"],
    [totals.changed, "change"],
    [totals.added, "add"],
  ] as const;
  const counts = todo.filter(([count]) => count > 0);
  const parts = counts.map(([count, verb]) => `${verb} ${formatNumber(count)}`);
  const last = parts.pop() ?? "change";
  const list = parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
  return `${upperFirst(list)} ${counts.at(-1)?.[0] === 1 ? "file" : "files"}`;
}

/**
 * Selects the effects that a card lists. A deleted or added folder stands for its contents. What carries a warning comes
 * first, or many deletions would push it off the card.
 */
export function shownEffects(effects: Pick<Effects, "effects">, autorun: ReadonlySet<RawPath>): Effect[] {
  const groups = Map.groupBy(outermost(effects), (effect) =>
    warningOf(effect, autorun) === undefined ? effect.action : "autorun",
  );
  const inOrder = (["autorun", "deleted", "changed", "added"] as const).flatMap((group) => groups.get(group) ?? []);
  return inOrder.slice(0, maxShownFiles);
}

function hiddenFiles(
  effects: Pick<Effects, "effects">,
  autorun: ReadonlySet<RawPath>,
  files: readonly Effect[],
): Pick<ShownChanges, "moreFiles" | "moreWarned"> {
  const all = outermost(effects);
  const moreFiles = Math.max(0, all.length - files.length);
  const warnedIn = (some: readonly Effect[]) =>
    some.filter((effect) => warningOf(effect, autorun) !== undefined).length;
  const moreWarned = moreFiles === 0 ? 0 : Math.max(0, warnedIn(all) - warnedIn(files));
  return { moreFiles, ...(moreWarned === 0 ? {} : { moreWarned }) };
}

/** Every file, and the folders without any. For changes that are kept before anybody sees them. */
export function namedEffects({ effects }: Pick<Effects, "effects">): Effect[] {
  return effects.filter(({ type, files, action }) => type !== "folder" || files === 0 || action === "changed");
}

function outermost({ effects }: Pick<Effects, "effects">): Effect[] {
  return effects.filter(({ within }) => within === undefined);
}

function describeEffect(effect: Effect, autorun: ReadonlySet<RawPath>): ShownChange {
  const { path, action, type, notes } = effect;
  const warning = warningOf(effect, autorun);
  return {
    path: type === "folder" ? `${path}/` : path,
    action,
    detail: [sizeDetail(effect), ...notes].filter((part) => part !== "").join(", "),
    ...(warning === undefined ? {} : { warning }),
  };
}

function sizeDetail(effect: Effect): string {
  const { action, type, files, linesAdded, linesRemoved, linkTarget, fileType } = effect;
  if (type === "folder") return files === 0 ? "folder" : filesText(files);
  if (type === "link") return action === "deleted" ? "link" : `link to ${linkTarget ?? "?"}`;
  if (type === "special") return "socket, pipe or device";
  if (fileType !== undefined) return `${fileType}, ${sizeText(effect)}`;
  if (action === "deleted") return sizeText(effect);
  if (linesAdded !== undefined && linesRemoved !== undefined)
    return action === "added" ? `+${linesAdded}` : `+${linesAdded} −${linesRemoved}`;
  return sizeText(effect);
}

function sizeText({ action, bytes, previousBytes }: Effect): string {
  if (action === "deleted") return formatBytes(previousBytes);
  return action === "added" ? formatBytes(bytes) : `${formatBytes(previousBytes)} → ${formatBytes(bytes)}`;
}

/** Oldest first, with the commands whole. A call that changed nothing is there only if it ran a command. */
export async function callsThatRan(
  ledger: Ledger,
  store: Pick<DraftStore, "mergedCall">,
  { id, turnIds }: Pick<DraftRecord, "id" | "turnIds">,
): Promise<RanCall[]> {
  const turns = await Promise.all(turnIds.map((turnId) => ledger.get("turn", turnId)));
  const ran = turns.flatMap((turn) =>
    turn === undefined ? [] : callsOf(turn.body).map((record) => ({ turn, record })),
  );
  const calls = ran.map(async ({ turn, record: { call, result } }) => {
    if (call === undefined || result === undefined || neverRan.has(result.status)) return [];
    const { command } = call.input;
    if (typeof command === "string") return [{ text: command, isCommand: true, result }];
    const hasChanged = (await store.mergedCall(id, callKeyOf(turn.id, call.id))) !== undefined;
    return hasChanged ? [{ text: [call.name, ...pathsIn(call.input)].join(" "), isCommand: false, result }] : [];
  });
  return (await Promise.all(calls)).flat();
}

const neverRan: ReadonlySet<string> = new Set(["invalid", "denied", "blocked"]);
const pathName = /path|file|folder|dir|source|target|destination|^from$|^to$/i;

function pathsIn(input: JsonObject): string[] {
  const named = Object.entries(input).filter(([key]) => pathName.test(key));
  return named.flatMap(([, value]) => (typeof value === "string" ? value : []));
}

function shownCalls(ran: readonly RanCall[]): Pick<ShownChanges, "commands" | "moreCommands" | "lastOutput"> {
  const commands = ran
    .slice(-maxListedCommands)
    .map((call) => ({ text: shortCommand(call.text), outcome: outcomeOf(call) }));
  const last = ran.findLast(({ isCommand }) => isCommand)?.result;
  // If the call was interrupted, its text comes from the queue, not from the command.
  const output = last?.status === "interrupted" ? undefined : last?.text.replace(outcomeLine, "").trim();
  return {
    commands,
    moreCommands: ran.length - commands.length,
    ...(output ? { lastOutput: shortenStart(output, maxOutputCharacters) } : {}),
  };
}

function shortCommand(text: string): string {
  const shown = shorten(text, maxCommandCharacters);
  return shown === text ? text : `${shown} (${formatNumber(text.length - maxCommandCharacters + 1)} more characters)`;
}

const outcomeLine = /\s*\((exit code \d+|ended by [^()]*|stopped[^()]*)(?:, no output)?\)\s*$/;

export function outcomeOf({ result: { status, text } }: RanCall): string {
  if (status === "interrupted") return "stopped";
  return outcomeLine.exec(text)?.[1] ?? (status === "failed" ? "failed" : "ended");
}
