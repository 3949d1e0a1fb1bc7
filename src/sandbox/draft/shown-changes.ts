/** The effects of a draft as a card shows them: counts, files with details, the commands of its turns, and a short diff. */
import { basename } from "node:path";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { maxShownFiles, type ShownChange, type ShownChanges } from "../../ports/approval.ts";
import type { DraftEnd, DraftRecord } from "../../ports/draft.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ToolResult } from "../../ports/tool.ts";
import { callsOf } from "../../ports/turn.ts";
import type { Effect, Effects } from "../effects/effect.ts";
import { startersIn } from "./starters.ts";

const maxShownCommands = 12;
const maxCommandCharacters = 300;
const maxOutputCharacters = 600;

export interface ShownInput {
  draft: DraftRecord;
  effects: Effects;
  end: DraftEnd;
  /** One sentence, or empty. */
  summary: string;
  /** Short enough for a card. */
  diff: string | undefined;
}

export async function describeChanges(
  ledger: Ledger,
  { draft, effects, end, summary, diff }: ShownInput,
): Promise<ShownChanges> {
  const { commands, lastOutput } = await commandsOf(ledger, draft);
  const isUnfinished = end !== "done";
  const [files, starters] = [shownEffects(effects), startersIn(effects)];
  return {
    title: `${folderName(draft)}: ${countsText(effects)}`,
    summary,
    files: files.map((effect) => describeEffect(effect, starters)),
    moreFiles: outermost(effects).length - files.length,
    commands,
    ...(lastOutput === undefined ? {} : { lastOutput }),
    ...(diff === undefined ? {} : { diff }),
    labels: isUnfinished ? { approve: "Keep", deny: "Discard" } : { approve: "Approve", deny: "Deny" },
  };
}

/** After a crash that came between the keeping and the card; what the changes were is known by their paths alone. */
export function describeKept(draft: DraftRecord, count: number): ShownChanges {
  return {
    title: `${folderName(draft)}: ${filesText(count)} changed`,
    summary: "",
    files: [],
    moreFiles: 0,
    commands: [],
    labels: { approve: "Approve", deny: "Deny" },
  };
}

/** As people call the folder. */
export function folderName({ kind, folder }: Pick<DraftRecord, "kind" | "folder">): string {
  return kind === "own" ? "Working folder" : basename(folder);
}

/** `1 file deleted, 2 changed`. */
function countsText({ totals }: Pick<Effects, "totals">): string {
  const counts = [
    [totals.deleted, "deleted"],
    [totals.changed, "changed"],
    [totals.added, "added"],
  ] as const;
  const parts = counts.flatMap(([count, word]) => (count === 0 ? [] : [{ count, word }]));
  return parts
    .map(({ count, word }, index) =>
      index === 0 ? `${filesText(count)} ${word}` : `${count.toLocaleString("en")} ${word}`,
    )
    .join(", ");
}

export function filesText(count: number): string {
  return count === 1 ? "1 file" : `${count.toLocaleString("en")} files`;
}

/** What a card lists: a folder that is deleted or added stands for everything in it. */
export function shownEffects(effects: Pick<Effects, "effects">): Effect[] {
  const starters = startersIn(effects);
  const groups = Map.groupBy(outermost(effects), ({ action, path }) =>
    action !== "deleted" && starters.has(path) ? "starters" : action,
  );
  const inOrder = (["deleted", "starters", "changed", "added"] as const).flatMap((group) => groups.get(group) ?? []);
  return inOrder.slice(0, maxShownFiles);
}

function outermost({ effects }: Pick<Effects, "effects">): Effect[] {
  return effects.filter(({ within }) => within === undefined);
}

function describeEffect(effect: Effect, starters: ReadonlySet<string>): ShownChange {
  const { path, action, type, notes } = effect;
  const isFolder = type === "folder";
  const warning = isFolder
    ? "holds files that run by themselves outside the sandbox"
    : "runs by itself outside the sandbox";
  const detail = [sizeDetail(effect), ...notes, action !== "deleted" && starters.has(path) ? warning : ""];
  return {
    path: isFolder ? `${path}/` : path,
    action,
    detail: detail.filter((part) => part !== "").join(", "),
  };
}

function sizeDetail(effect: Effect): string {
  const { action, type, files, linesAdded, linesRemoved, linkTarget, bytes, previousBytes } = effect;
  if (type === "folder") return files === 0 ? "folder" : filesText(files);
  if (type === "link") return action === "deleted" ? "link" : `link to ${linkTarget ?? "?"}`;
  if (type === "special") return "socket, pipe or device";
  if (action === "deleted") return formatBytes(previousBytes);
  if (linesAdded !== undefined && linesRemoved !== undefined)
    return action === "added" ? `+${linesAdded}` : `+${linesAdded} −${linesRemoved}`;
  return action === "added" ? formatBytes(bytes) : `${formatBytes(previousBytes)} → ${formatBytes(bytes)}`;
}

/** From the journals of the turns, which hold every call and its result. */
async function commandsOf(
  ledger: Ledger,
  { turnIds }: DraftRecord,
): Promise<Pick<ShownChanges, "commands" | "lastOutput">> {
  const turns = await Promise.all(turnIds.map((id) => ledger.get("turn", id)));
  const ran = turns
    .flatMap((turn) => (turn === undefined ? [] : callsOf(turn.body)))
    .flatMap(({ call, result }) => {
      const text = call?.input.command;
      const hasRun = result !== undefined && !["invalid", "denied", "blocked"].includes(result.status);
      return typeof text === "string" && hasRun ? [{ text: cut(text, maxCommandCharacters), result }] : [];
    });
  const commands = ran.slice(-maxShownCommands).map(({ text, result }) => ({ text, outcome: outcomeOf(result) }));
  const last = ran.at(-1)?.result;
  // The text of a call that was cut off is the queue's and not the command's.
  const output = last?.status === "interrupted" ? undefined : last?.text.replace(outcomeLine, "").trim();
  return { commands, ...(output ? { lastOutput: lastOf(output, maxOutputCharacters) } : {}) };
}

/** The last line that the shell skill writes: `(exit code 1, no output)`. */
const outcomeLine = /\s*\((exit code \d+|ended by [^()]*|stopped[^()]*)(?:, no output)?\)\s*$/;

function outcomeOf({ status, text }: ToolResult): string {
  return status === "interrupted" ? "stopped" : (outcomeLine.exec(text)?.[1] ?? "ended");
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}

function lastOf(text: string, max: number): string {
  return text.length <= max ? text : `…${text.slice(-max).toWellFormed()}`;
}
