/** What must hold at the end, wherever processes died on the way. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { headsFolderOf } from "../../../src/audit/heads.ts";
import { verifyAudit } from "../../../src/audit/verify.ts";
import type { Person } from "./person.ts";
import type { World } from "./world.ts";

export type Task = { id: string; tool: "effect_safe" | "effect_ask" | "effect_again" | null };

export async function checkInvariants(world: World, person: Person, tasks: readonly Task[]): Promise<void> {
  for (const task of tasks) await checkTask(world, person, task);
  expect(await world.ledger.list("turn", { states: ["running", "parked"] })).toEqual([]);
  expect(await world.ledger.list("approval", { states: ["open", "approved"] })).toEqual([]);
  await checkFiles(world, tasks);
}

async function checkTask({ ledger, effects }: World, person: Person, { id, tool }: Task): Promise<void> {
  const thread = await person.thread(id);
  const agents = thread.filter((message) => message.author.isBot && !message.isDeleted);
  const shown = `${id} ${tool}\n${agents.map(({ type, state, text }) => `${type} ${state} ${text}`).join("\n")}`;
  // Every accepted message has exactly one final answer, below everything else.
  const last = agents.at(-1);
  expect(last?.type, shown).toBe("message");
  expect(["done", "failed"], shown).toContain(last?.state);
  const ends = agents.filter(({ type, text }) => type === "message" && /Finished\.|⚠️/.test(text));
  expect(ends, shown).toHaveLength(1);
  expect(
    agents.filter(({ state }) => state === "streaming" || state === "waiting"),
    shown,
  ).toEqual([]);
  // No card has buttons, and there is at most one card.
  const cards = agents.flatMap(({ card }) => card ?? []);
  expect(cards.length, shown).toBeLessThanOrEqual(1);
  expect(
    cards.flatMap((card) => card.items.flatMap((item) => item.choices)),
    shown,
  ).toEqual([]);
  if (tool === null) return;
  const count = effects.count(id);
  if (tool !== "effect_again") expect(count, `effects of ${shown}`).toBeLessThanOrEqual(1);
  // The model was told what happened: a result only after an effect, otherwise "unknown", or that it may be repeated.
  const interrupted = tool === "effect_again" ? /unknown|⚠️|may repeat/ : /unknown|⚠️/;
  if (/effect \w+/.test(last?.text ?? "")) expect(count, shown).toBeGreaterThanOrEqual(1);
  else expect(last?.text, shown).toMatch(interrupted);
  if (tool !== "effect_ask" || count === 0) return;
  const turns = (await ledger.list("turn", {})).filter(({ body }) => body.messages.some((said) => said.id === id));
  const approvals = await Promise.all(turns.map((turn) => ledger.list("approval", { group: turn.id })));
  expect(
    approvals.flat().map(({ state }) => state),
    shown,
  ).toEqual(["consumed"]);
}

/** All readable files parse, and every message is in the episodes once. */
async function checkFiles({ home }: World, tasks: readonly Task[]): Promise<void> {
  const brain = join(home.workspace, "brain");
  const read = async (folder: string, ending: string) => {
    const names = await readdir(join(brain, folder), { recursive: true }).catch(() => []);
    const files = names.filter((name) => name.endsWith(ending)).map((name) => join(brain, folder, name));
    return await Promise.all(files.map((file) => readFile(file, "utf8")));
  };
  const episodes = (await read("hippocampus/episodes", ".md")).join("\n");
  const turnIds = [...episodes.matchAll(/\n<!-- turn=(\S+) /g)].map(([, id]) => id);
  expect(turnIds.length).toBe(new Set(turnIds).size);
  for (const { id } of tasks) expect(episodes, `${id} is remembered`).toContain(id);
  for (const file of await read("motor/tasks", ".md")) expect(file).not.toMatch(/RUNNING/);
  const audit = await verifyAudit({ folder: join(brain, "corpus"), headsFolder: headsFolderOf(home.data) });
  expect(audit.problems).toEqual([]);
  const left = await readdir(join(brain, "motor", "tasks")).catch(() => []);
  expect(left.filter((name) => !name.endsWith(".md"))).toEqual([]);
}

/** Processes with the world's data folder in their environment. */
export async function processesOn({ home }: World): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    pids.map(async (pid) => ({ pid, text: await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "") })),
  );
  return environments.filter(({ text }) => text.includes(`REMORA_DATA=${home.data}`)).map(({ pid }) => pid);
}
