/** What the person asks for in these tests, how they repeat it until it is finished, and what must then hold. */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";
import type { Person } from "../chaos/person.ts";
import type { DraftWorld } from "./world.ts";

/** In the configured folder: `approve`, `deny`, `undo` (after approving). In the conversation's own: the others. */
export const kinds = ["approve", "deny", "undo", "own", "own undo", "job"] as const;
export type Kind = (typeof kinds)[number];

export interface Task {
  /** Also the name of its folder. */
  id: string;
  kind: Kind;
}

const before = { "gone.txt": "gone\n", "log.txt": "0\n", "same.txt": "same\n" };
const after = { "log.txt": "0\n1\n2\n", "new/a.txt": "new\n", "note.md": "# note\n", "same.txt": "same\n" };
const afterJob = { "log.txt": "0\n1\n", "new/a.txt": "new\n", "same.txt": "same\n" };
const lookMs = 150;

/** Creates its folder, so later only the processes write to folders. */
export async function createTask({ site, own }: DraftWorld, kind: Kind): Promise<Task> {
  const id = `m${randomBytes(6).toString("hex")}`;
  const folder = join(isOwn(kind) ? own : site, id);
  await mkdir(folder);
  for (const [name, text] of Object.entries(before)) await writeFile(join(folder, name), text);
  return { id, kind };
}

function isOwn(kind: Kind): boolean {
  return kind === "own" || kind === "own undo" || kind === "job";
}

function requestOf({ id, kind }: Task): string {
  const first = `cd ${id} && rm gone.txt && echo 1 >> log.txt && mkdir new && echo new > new/a.txt && echo done`;
  const call = (name: string, input: object) => `call ${name} ${JSON.stringify(input)}`;
  if (kind === "job") return call("shell_exec", { command: first, background: true });
  return [
    call("shell_exec", { command: first }),
    call("write_file", { path: `${id}/note.md`, content: "# note\n" }),
    call("shell_exec", { command: `echo 2 >> ${id}/log.txt` }),
  ].join(" then ");
}

/** Sends the request and clicks its cards, whatever dies. Resolves when it is settled. */
export async function pursue(world: DraftWorld, person: Person, task: Task): Promise<void> {
  const { id, kind } = task;
  await person.say(id, requestOf(task), isOwn(kind) ? "general" : "random");
  for (;;) {
    for (const choice of clicksOf(kind)) await person.click(id, choice);
    if (await isConcluded(world, task)) return;
    await wait(lookMs);
  }
}

function clicksOf(kind: Kind): AnswerChoice[] {
  if (kind === "deny") return ["deny"];
  if (kind === "undo") return ["approve", "undo"];
  if (kind === "own undo") return ["undo"];
  return kind === "approve" ? ["approve"] : [];
}

async function isConcluded(world: DraftWorld, { id, kind }: Task): Promise<boolean> {
  // First, because a job's changes are in a draft before its working files go.
  const isJobOver = kind !== "job" || (await jobLayers(world)).length === 0;
  const ledger = await world.ledger();
  if ((await ledger.get("message", `local:${id}`))?.state !== "answered") return false;
  const turn = (await ledger.list("turn", {})).find(({ body }) => body.messages.some((said) => said.id === id));
  const drafts = (await ledger.list("draft", {})).filter(({ body }) => body.turnIds.includes(turn?.id ?? ""));
  if (drafts.some(({ state }) => state === "open")) return false;
  const [approval] = await ledger.list("approval", { group: turn?.id ?? "" });
  if (approval === undefined) return kind === "job" && isJobOver;
  return !kind.includes("undo") || approval.body.changes?.undoId === undefined;
}

/** Job logs may stay while someone can read them; their working files may not. */
export async function jobLayers({ home }: DraftWorld): Promise<string[]> {
  const names = await readdir(join(home.workspace, "drafts", "jobs"), { recursive: true }).catch(() => []);
  return names.filter((name) => /\/(?:layer|scratch)/.test(name));
}

/** The folder is in its old or its new state, never between. The thread has one answer and one settled card. */
export async function checkTask(world: DraftWorld, person: Person, { id, kind }: Task): Promise<void> {
  const { site, own } = world;
  const found = await readFolder(join(isOwn(kind) ? own : site, id));
  if (kind === "job") expect([before, afterJob], `${kind} ${id}`).toContainEqual(found);
  else expect(found, `${kind} ${id}`).toEqual(kind === "approve" || kind === "own" ? after : before);
  const agents = (await person.thread(id)).filter(({ author, isDeleted }) => author.isBot && !isDeleted);
  const shown = `${kind} ${id}\n${agents.map(shownMessage).join("\n")}\n${await approvalsOf(world, id)}`;
  expect(
    agents.filter(({ state }) => state === "streaming" || state === "waiting"),
    shown,
  ).toEqual([]);
  const answers = agents.filter(({ type }) => type === "message");
  expect(
    answers.map(({ text }) => /Finished\./.test(text)),
    shown,
  ).toEqual([true]);
  const items = agents.flatMap(({ card }) => card?.items ?? []);
  const hasChanged = kind !== "job" || !("gone.txt" in found);
  expect(items, shown).toHaveLength(hasChanged ? 1 : 0);
  if (items[0] === undefined) return;
  const { choices, outcome } = items[0];
  expect(choices, shown).toEqual(kind === "deny" || kind.includes("undo") ? [] : ["undo"]);
  expect(outcome, shown).toMatch(outcomeOf(kind));
}

/** The cards in the ledger; a different card in the chat was not updated. */
async function approvalsOf(world: DraftWorld, id: string): Promise<string> {
  const ledger = await world.ledger();
  const turns = (await ledger.list("turn", {})).filter(({ body }) => body.messages.some((said) => said.id === id));
  const rows = (await Promise.all(turns.map((turn) => ledger.list("approval", { group: turn.id })))).flat();
  return rows
    .map(({ state, body: { changes, reason } }) => `${state} ${changes?.draftId} ${changes?.hash} ${reason ?? ""}`)
    .join("\n");
}

function outcomeOf(kind: Kind): RegExp {
  if (kind === "deny") return /Ann denied/;
  return kind.includes("undo") ? /undone by Ann/ : /Kept/;
}

function shownMessage({ type, state, text, card }: StoredMessage): string {
  return `${type} ${state} ${text} ${JSON.stringify(card?.items.map(({ choices, outcome, state }) => ({ choices, outcome, state })))}`;
}

async function readFolder(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    files.map(async (file) => [file.slice(folder.length + 1), await readFile(file, "utf8")]),
  );
  return Object.fromEntries(texts);
}
