/**
 * The audit log with the real process: killed during a write, with a log that can't be written, and then `remora audit` on the
 * log, intact and tampered with.
 */
import { renameSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { headsFolderOf } from "../../src/audit/heads.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import { type Ended, remora as runRemora } from "../cli/remora-command.ts";
import { remoraHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import { createHome, type RemoraHome, startRemora as startProcess } from "../doubles/remora-process.ts";

let home: RemoraHome;
/** Ends the agent: one in this process is stopped, a process is killed. */
let end: () => Promise<unknown>;
let ann: ChatClient;
let config: string;

beforeAll(async () => {
  home = await createHome();
  config = join(dirname(home.data), "remora.yaml");
  await writeFile(config, JSON.stringify({ safety: { shell: "ask" } }));
  await beginToBeKilled();
});
afterAll(async () => {
  ann.close();
  await end();
  await home.remove();
});

async function begin(): Promise<void> {
  const { url, token, stop } = await startRemora(home, { REMORA_CONFIG: config });
  end = stop;
  ann = await createChatClient(url, token);
}

async function beginToBeKilled(): Promise<void> {
  const { url, token, kill } = await startProcess(home, { REMORA_CONFIG: config });
  end = kill;
  ann = await createChatClient(url, token);
}

const corpus = (where = dirname(home.data)) => join(where, "workspace", "brain", "corpus");

function audit(command: string[], where = dirname(home.data)): Promise<Ended> {
  return remoraHere(where, "audit", ...command);
}

/** Copies the files that `verify` reads. */
async function copyTo(where: string): Promise<void> {
  await cp(corpus(), corpus(where), { recursive: true });
  await cp(join(home.data, "audit"), join(where, "data", "audit"), { recursive: true });
}

type Line = { event: string; [field: string]: unknown };

async function exported(): Promise<Line[]> {
  const { code, stdout } = await audit(["export", "--since", "2026-01-01"]);
  expect(code).toBe(0);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

/** Resolves when the card's turn has ended. */
function endOf(card: SeenMessage): Promise<SeenMessage> {
  return ann.waitFor(
    ({ author, type, thread, sequence, state }) =>
      author.isBot && type === "message" && thread === card.thread && sequence > card.sequence && state !== "streaming",
  );
}

test("a call leaves a record of the request, card, decision, run, changes and Undo", async () => {
  const card = await ann.cardFor(await ann.say("@remora run echo ran >> made.txt"));
  await ann.click(card, "approve");
  await endOf(card);
  const report = await ann.waitFor(({ card: other }) => other?.items[0]?.choices.includes("undo") === true);
  expect((await ann.click(report, "undo")).accepted).toBe(true);
  const lines = await vi.waitFor(async () => {
    const all = await exported();
    expect(all.map(({ event }) => event)).toContain("changes.undone");
    return all;
  });
  const of = (event: string) => lines.find((line) => line.event === event);
  const approvalId = card.card?.items[0]?.approvalId;
  expect(of("approval.answered")).toMatchObject({
    ...{ approvalId, choice: "approve", requester: { id: "ann" }, by: { id: "ann" } },
    shown: { text: expect.stringContaining("echo ran >> made.txt"), hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  expect(of("tool.called")).toMatchObject({ approvalId, input: expect.stringContaining("echo ran >> made.txt") });
  expect(of("tool.changed")).toMatchObject({ files: 1 });
  const undoId = of("changes.keeping")?.undoId;
  expect(of("changes.kept")).toMatchObject({ undoId, files: 1 });
  expect(of("changes.undoing")).toMatchObject({ undoId, by: "ann" });
  const order = lines.map(({ event }) => event);
  for (const [first, then] of [
    ["approval.answered", "safety.approved"],
    ["tool.called", "tool.completed"],
    ["changes.keeping", "changes.kept"],
    ["changes.undoing", "changes.undone"],
  ] as const)
    expect(order.indexOf(first)).toBeLessThan(order.indexOf(then));
  expect((await audit(["verify"])).code).toBe(0);
});

test("an answer on the command line is in the audit log, in its own chain", async () => {
  const card = await ann.cardFor(await ann.say("@remora run echo from the desk"));
  const approvalId = card.card?.items[0]?.approvalId ?? "";
  expect((await runRemora(dirname(home.data), "approvals", "approve", approvalId)).code).toBe(0);
  await endOf(card);
  const lines = await exported();
  expect(lines.filter((line) => line.event === "approval.answered" && line.approvalId === approvalId)).toMatchObject([
    { isOperator: true, by: { id: "operator" } },
  ]);
  expect((await audit(["verify"])).code).toBe(0);
});

test("after kill -9 during a write, verify accepts the log before and after the next start", async () => {
  const problems = async () =>
    (await verifyAudit({ folder: corpus(), headsFolder: headsFolderOf(home.data) })).problems;
  for (let round = 0; round < 2; round++) {
    const said = Array.from({ length: 6 }, (_, index) => ann.say(`@remora run echo ${round} ${index}`));
    const card = await ann.cardFor(await (said[0] as Promise<SeenMessage>));
    const rest = Promise.allSettled([...said, ann.click(card, "approve")]);
    await said[round + 1];
    ann.close();
    await end();
    await rest;
    expect(await problems()).toEqual([]);
    await (round === 0 ? beginToBeKilled() : begin());
  }
  const { code, stdout } = await runRemora(dirname(home.data), "audit", "verify");
  expect(stdout).toContain("nothing is missing or changed");
  expect(code).toBe(0);
});

test("if the log can't be written, the effect does not happen and people read why", async () => {
  const card = await ann.cardFor(await ann.say("@remora run echo ran >> unrecorded.txt"));
  // Even root can't create a folder in place of a file. Both renames come in one go, because a write in between would
  // create the folder again.
  await writeFile(`${corpus()}-file`, "");
  renameSync(corpus(), `${corpus()}-away`);
  renameSync(`${corpus()}-file`, corpus());
  const receipt = await ann.click(card, "approve");
  expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("can't be written") });
  const unasked = await ann.answerTo(await ann.say("@remora remember that the log is gone"));
  expect(unasked.state).toBe("done");
  await rm(corpus());
  await rename(`${corpus()}-away`, corpus());
  expect((await ann.click(card, "approve")).accepted).toBe(true);
  await endOf(card);
  const calls = (await exported()).filter(({ event }) => event === "tool.called");
  expect(calls.filter(({ input }) => String(input).includes("unrecorded.txt"))).toHaveLength(1);
  expect((await audit(["verify"])).code).toBe(0);
});

test("verify finds removed, changed and swapped lines, with file and line number", async () => {
  await end();
  const where = await mkdtemp(join(tmpdir(), "remora-tampered-"));
  try {
    const names = (await readdir(corpus())).toSorted();
    const [name = ""] = names;
    const changes: [string, (lines: string[]) => string[], number][] = [
      ["DELETED", (lines) => lines.toSpliced(3, 1), 4],
      ["CHANGED", (lines) => lines.with(3, (lines[3] ?? "").replace('"event":"', '"event":"x')), 4],
      ["REORDERED", (lines) => lines.with(3, lines[4] ?? "").with(4, lines[3] ?? ""), 4],
    ];
    for (const [kind, change, line] of changes) {
      await copyTo(where);
      const file = join(corpus(where), name);
      const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
      await writeFile(file, `${change(lines).join("\n")}\n`);
      const { code, stdout } = await audit(["verify"], where);
      expect(code).toBe(1);
      expect(stdout).toContain(`${kind} ${file}:${line} `);
    }
    await copyTo(where);
    await rm(join(corpus(where), names.at(-1) ?? ""));
    expect(await audit(["verify"], where)).toMatchObject({ code: 1, stdout: expect.stringContaining("DELETED") });
  } finally {
    await rm(where, { recursive: true, force: true });
  }
});
