/** The main job: a message, a tool call, a click, an answer, and the files on disk; first within this process. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { remoraHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";

let home: RemoraHome;
let ann: ChatClient;

/** Ann at the agent's page. */
async function connect({ url, token }: RunningRemora): Promise<void> {
  ann = await createChatClient(url, token);
}

async function onlyFileIn(folder: string): Promise<string> {
  const names = (await readdir(join(home.workspace, folder))).filter((name) => !name.startsWith("."));
  expect(names).toHaveLength(1);
  return await readFile(join(home.workspace, folder, names[0] ?? ""), "utf8");
}

/** The snapshots of model calls with this message. */
async function snapshotsNaming(text: string): Promise<string[]> {
  const folder = join(home.workspace, "brain/prefrontal/.debug");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".md")).sort();
  const all = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return all.filter((snapshot) => snapshot.includes(text));
}

async function eventsOf(): Promise<string[]> {
  const lines = (await onlyFileIn("brain/corpus")).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line).event);
}

const finishedTurns = async () =>
  (await eventsOf().catch((): string[] => [])).filter((event) => event === "turn.finished").length;
const cardsBelow = ({ id }: SeenMessage) =>
  [...ann.seen.values()].filter(({ type, thread }) => type === "card" && thread === id);

/** A command that asks, although it works without network. */
const asking = (command: string) => `@remora run ${command} with network example.com`;
const inFiles = (name = "") => join(home.workspace, "files", "channel:general", name);
const content = (name: string) => readFile(inFiles(name), "utf8").catch(() => "");
const filesHere = () => readdir(inFiles()).catch(() => []);

/** All draft files on disk. A command that ran without being kept would have left its file there. */
async function inDrafts(name: string): Promise<string[]> {
  const found = await readdir(join(home.workspace, "drafts"), { recursive: true }).catch(() => []);
  return found.filter((path) => path.endsWith(`/${name}`));
}

async function lastEvent(name: string): Promise<object | undefined> {
  const lines = (await onlyFileIn("brain/corpus")).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line)).findLast(({ event }) => event === name);
}

function logs(...args: string[]): Promise<{ stdout: string }> {
  return remoraHere(dirname(home.data), "logs", ...args);
}

/** The turn's text after its card. */
function answerBelow(card: SeenMessage): Promise<SeenMessage> {
  return ann.waitFor(
    ({ type, state, thread, author, sequence }) =>
      type === "message" && author.isBot && state !== "streaming" && thread === card.thread && sequence > card.sequence,
  );
}

describe("within this process", () => {
  let remora: RunningRemora;
  beforeAll(async () => {
    home = await createHome();
    remora = await startRemora(home);
    await connect(remora);
  });
  afterAll(async () => {
    ann.close();
    await remora.stop();
    await home.remove();
  });

  test("a mention runs a command without asking, the card says what it changed, and Undo reverts it", async () => {
    await ann.changesFor(await ann.say("@remora run echo one > kept.txt"));
    const said = await ann.say("@remora run touch hello.txt && echo two >> kept.txt && ls -la");
    const answer = await ann.answerTo(said);
    expect(answer.text).toContain("hello.txt");
    const report = await ann.changesFor(said);
    expect(report.sequence).toBeGreaterThan(answer.sequence);
    expect(report).toMatchObject({
      state: "done",
      card: { items: [{ choices: ["undo"], outcome: expect.stringMatching(/^Kept/) }] },
    });
    expect(report.card?.items[0]?.changes).toMatchObject({
      title: "Working folder: 1 file changed, 1 added",
      files: [
        { path: "kept.txt", action: "changed", detail: "+1 −0" },
        { path: "hello.txt", action: "added" },
      ],
    });
    expect([await content("kept.txt"), (await filesHere()).sort()]).toEqual(["one\ntwo\n", ["hello.txt", "kept.txt"]]);

    expect(await ann.click(report, "undo")).toMatchObject({ accepted: true });
    expect([await content("kept.txt"), await filesHere()]).toEqual(["one\n", ["kept.txt"]]);
    const undone = await ann.waitFor(({ id, card }) => id === report.id && card?.items[0]?.choices.length === 0);
    expect(undone.card?.items[0]?.outcome).toContain("undone by Ann");
    expect(await ann.click(report, "undo")).toMatchObject({ accepted: false });
    expect(await content("kept.txt")).toBe("one\n");
    await ann.answerTo(await ann.say("@remora hello", { channel: "general", thread: said.id }));
    // A snapshot is written when the event loop is idle.
    await expect.poll(() => snapshotsNaming("Ann undid the changes of an earlier turn")).toHaveLength(1);
  });

  test("a denied command does not run, and the answer says so", async () => {
    const before = await finishedTurns();
    const said = await ann.say(asking("touch denied.txt"));
    const card = await ann.cardFor(said);
    expect(await ann.click(card, "deny", { reason: "not today" })).toMatchObject({ accepted: true });
    const answer = await answerBelow(card);
    expect(answer.text.toLowerCase()).toContain("denied");
    await expect.poll(finishedTurns).toBe(before + 1);
    expect([await filesHere(), await inDrafts("denied.txt")]).toEqual([["kept.txt"], []]);
  });

  test("a blocked command never asks and never runs", async () => {
    const said = await ann.say("@remora run rm -rf / --no-preserve-root");
    const answer = await ann.answerTo(said);
    expect(answer.text.toLowerCase()).toContain("blocked");
    expect(cardsBelow(said)).toEqual([]);
  });

  test("reading neither asks nor reports changes", async () => {
    const before = await finishedTurns();
    const said = await ann.say("@remora run ls -la");
    const answer = await ann.answerTo(said);
    expect(answer.text).toContain("total");
    await expect.poll(finishedTurns).toBe(before + 1);
    expect(cardsBelow(said)).toEqual([]);
  });

  test("a stranger's click changes nothing", async () => {
    const said = await ann.say(asking("touch hers.txt"));
    const card = await ann.cardFor(said);
    const ben = await createChatClient(remora.url, remora.token, "ben");
    expect(await ben.click(card, "approve")).toMatchObject({ accepted: false });
    ben.close();
    expect(ann.seen.get(card.id)?.state).toBe("waiting");
    expect([await filesHere(), await inDrafts("hers.txt")]).toEqual([["kept.txt"], []]);
  });

  test("a conversation continues while a card is open, and knows what is pending", async () => {
    const said = await ann.say(asking("touch waiting.txt"));
    const card = await ann.cardFor(said);
    await ann.say("what are you waiting for?", { channel: "general", thread: said.id });
    await expect.poll(() => snapshotsNaming("what are you waiting for?")).toHaveLength(1);
    const [shown = ""] = await snapshotsNaming("what are you waiting for?");
    expect(shown).toContain("touch waiting.txt");
    await ann.click(card, "approve");
    await ann.waitFor(
      (message) => message.author.isBot && message.sequence > card.sequence && /is done/.test(message.text),
    );
  });

  test("messages of a DM are in nobody else's prompt", async () => {
    const answer = await ann.answerTo(await ann.say("the word is marmalade-canary", { dm: true }));
    expect(answer.place).toBe("dm:ann");
    await ann.answerTo(await ann.say("@remora what did I say about marmalade-canary?"));
    await expect.poll(() => snapshotsNaming("what did I say about marmalade-canary?")).toHaveLength(1);
    const [shown] = await snapshotsNaming("what did I say about marmalade-canary?");
    expect(shown).not.toContain("the word is marmalade-canary");
  });

  test("a 1 MB message is refused with a reason, and an emoji-only message is answered", async () => {
    const refused = await ann.answerTo(await ann.say(`@remora ${"x".repeat(1_000_000)}`));
    expect(refused.text).toMatch(/characters, and I read at most/);
    expect(refused.footer?.choices ?? []).not.toContain("retry");
    const answered = await ann.answerTo(await ann.say("@remora 🎉🎉🎉"));
    expect(answered.state).toBe("done");
  });
});

test("a start says which workspace can't be written", async () => {
  const home = await createHome();
  try {
    const elsewhere = { ...home, workspace: "/dev/null/workspace" };
    await expect(startRemora(elsewhere)).rejects.toThrow(/^\[workspace \/dev\/null\/workspace\] can't be written/);
  } finally {
    await home.remove();
  }
});

describe("in a process of its own", () => {
  let remora: RemoraProcess;
  /** Within this process. */
  let next: RunningRemora | undefined;
  beforeAll(async () => {
    home = await createHome();
    remora = await startProcess(home);
    await connect(remora);
  });
  afterAll(async () => {
    ann.close();
    await remora.kill();
    await next?.stop();
    await home.remove();
  });

  test("a command with network access runs after Approve, and everything is on disk and readable", async () => {
    const said = await ann.say(asking("touch made.txt && echo finished"));
    const card = await ann.cardFor(said);
    expect(card.card?.items).toMatchObject([{ tool: "shell_exec", state: "open" }]);
    expect(card.card?.items[0]?.callText).toContain("touch made.txt && echo finished");
    expect(card.card?.items[0]?.why.join()).toContain("network");
    expect(card.card?.items[0]?.facts?.join()).toContain("example.com");
    expect([await filesHere(), await inDrafts("made.txt")]).toEqual([[], []]);

    expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
    const answer = await answerBelow(card);
    expect(answer.text).toContain("finished");
    const settled = await ann.waitFor((message) => message.id === card.id && message.state !== "waiting");
    expect(settled.card?.items).toMatchObject([{ choices: [], outcome: expect.stringContaining("Ann") }]);

    // The answer arrives before the turn settles its changes and is saved to memory.
    await expect.poll(() => eventsOf().catch(() => [])).toContain("turn.finished");
    expect(await filesHere()).toContain("made.txt");
    expect(await onlyFileIn("brain/hippocampus/episodes/channel:general")).toContain("touch made.txt");
    expect(await onlyFileIn("brain/basalganglia/channel:general")).toMatch(/shell_exec/);
    const task = await onlyFileIn("brain/motor/tasks");
    expect(task).toContain("shell_exec");
    expect(task).toContain("finished");
    const snapshots = await readdir(join(home.workspace, "brain/prefrontal/.debug"));
    expect(snapshots.filter((name) => name.endsWith(".md"))).toHaveLength(2);
    const events = await eventsOf();
    for (const name of [
      "message.received",
      "turn.started",
      "safety.confirm",
      "turn.parked",
      "safety.approved",
      "tool.completed",
      "turn.finished",
    ]) {
      expect(events).toContain(name);
    }
    const { turnId } = (await lastEvent("turn.finished")) as { turnId: string };
    const { stdout } = await logs("--turn", turnId.slice(0, 8), "--json");
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ message }) => message)).toEqual(expect.arrayContaining(["turn.started", "safety.approved"]));
    expect(lines.every((line) => line.turnId === turnId)).toBe(true);
    const times = lines.map(({ time }) => time);
    expect(times).toEqual(times.toSorted());
  });

  test("a click on a card from before kill -9 still counts, and the command runs once", async () => {
    const said = await ann.say(asking("echo ran >> once.txt"));
    const card = await ann.cardFor(said);
    ann.close();
    await remora.kill();

    next = await startRemora(home);
    await connect(next);
    expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
    await answerBelow(card);
    await ann.changesFor(said);
    expect(await content("once.txt")).toBe("ran\n");
    expect(await ann.click(card, "approve")).toMatchObject({ accepted: false });
    expect(await content("once.txt")).toBe("ran\n");
  });
});
