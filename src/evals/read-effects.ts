/** What a task has left: files, notes, reminders, and the calls in the turns' records. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { ifMissing } from "../lib/errors.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import { readNoteMark } from "../memory/origin-mark.ts";
import { branches } from "../memory/places.ts";
import type { Ledger } from "../ports/ledger.ts";
import { type CallRecord, callsOf } from "../ports/turn.ts";
import type { Effects, PlayedCall } from "./bot.ts";

export interface EffectsOptions {
  ledger: Pick<Ledger, "list">;
  /** The working folder. */
  folder: string;
  workspace: string;
  cards: number;
}

/** Longer files are no text that a task judges. */
const maxTextBytes = 1_000_000;

export async function readEffects({ ledger, folder, workspace, cards }: EffectsOptions): Promise<Effects> {
  const turns = await ledger.list("turn", { order: "oldest" });
  const schedules = await ledger.list("schedule", { states: ["active"], order: "oldest" });
  const notes = await textFilesIn(join(workspace, branches.knowledge));
  return {
    files: await textFilesIn(folder),
    notes: Object.values(notes).map((text) => readNoteMark(text).text),
    reminders: schedules.map(({ body: { text, nextAt } }) => ({ text, at: new Date(nextAt).toISOString() })),
    calls: turns.flatMap(({ body }) => callsOf(body)).map(playedCall),
    cards,
  };
}

/** By their paths, with `/`. */
export async function textFilesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ifMissing([]));
  const files: Record<string, string> = {};
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = await readFile(path);
    if (content.length > maxTextBytes || content.includes(0)) continue;
    files[relative(folder, path).replaceAll(sep, "/")] = content.toString("utf8");
  }
  return files;
}

function playedCall(record: CallRecord): PlayedCall {
  const { raw, call, result } = record;
  const written = parseJson(raw.inputJson);
  const played = { tool: raw.name, input: call?.input ?? (isJsonObject(written) ? written : {}) };
  // Without a result, nobody has answered the card, or the turn was ended.
  if (result === undefined) return { ...played, status: record.cardId === undefined ? "failed" : "denied" };
  if (result.status === "invalid") return { ...played, status: "invalid", problem: problemIn(result.text) };
  return { ...played, status: statuses[result.status] };
}

const statuses = {
  ok: "succeeded",
  denied: "denied",
  blocked: "denied",
  failed: "failed",
  interrupted: "failed",
} as const;

/** By what the model reads instead of a result (src/response/parse.ts). */
const problems: readonly [kind: string, says: RegExp][] = [
  ["unknown tool", /there is no tool/],
  ["not JSON", /not valid JSON|must be one JSON object/],
  ["schema", /don't fit its schema/],
  ["use_tool", /use_tool needs/],
  ["cut", /reached the output limit/],
];

function problemIn(text: string): string {
  return problems.find(([, says]) => says.test(text))?.[0] ?? "other";
}
