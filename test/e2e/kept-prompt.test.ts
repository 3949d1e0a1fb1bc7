/**
 * What requests of a long conversation begin with, and what the model must find in them, wherever it stands. With the real agent
 * on the page; `bench/cost.ts` has the prices.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { notes, oneLiners, withTools } from "../../bench/cost-stories.ts";
import { type CallingModel, type PlannedCall, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type Place, type SeenMessage } from "../doubles/chat-client.ts";
import { blocksOf, keptShare } from "../doubles/prompt-cache.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

/**
 * The least share of a turn's last request with which the next turn's first request begins. The rest is written to the services'
 * caches again.
 */
const leastKept = 0.8;

let home: RemoraHome;
let model: CallingModel;
let remora: RunningRemora;
let ann: ChatClient;
const planned: (string | PlannedCall[])[] = [];

beforeAll(async () => {
  [home, model] = await Promise.all([createHome(), startCallingModel(async () => planned.shift())]);
  mkdirSync(join(home.workspace, "knowledge"), { recursive: true });
  const vault = "## The vault\n\nThe vault opens with PELICAN-31, and Mara knows where it is.\n\n";
  writeFileSync(join(home.workspace, "knowledge/notes.md"), `${vault}${notes(200)}`);
  remora = await startRemora(home, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url });
  ann = await createChatClient(remora.url, remora.token);
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), home.remove()]);
});

interface More {
  /** `TOOL {json}`, one a step. */
  calls?: string[];
  answer?: string;
  person?: ChatClient;
  attachments?: { upload: string }[];
}

/** Talks in a new thread. */
function startThread() {
  let first: SeenMessage | undefined;
  const place = (): Place => ({ channel: "general", ...(first === undefined ? {} : { thread: first.id }) });
  return {
    place,
    /** Approves what the agent asks. Resolves with the requests of the turn, as they were sent. */
    async say(text: string, { calls = [], answer = "Done.", person = ann, attachments = [] }: More = {}) {
      const before = model.requests.length;
      planned.push(...calls.map(plannedCall), answer);
      const said = await person.say(`@remora ${text}`, place(), attachments);
      first ??= said;
      const answered = person.answerTo(said);
      void person.cardFor(said).then((card) => person.click(card, "approve"));
      await answered;
      return model.requests.slice(before);
    },
  };
}

function plannedCall(call: string): PlannedCall[] {
  const [, tool = "", json = ""] = /^(\w+) (.*)$/s.exec(call) ?? [];
  return [{ id: `toolu_${randomUUID()}`, tool, json }];
}

/** All that the model reads in its last request, wherever it stands. */
function readIn(sent: readonly string[]): string {
  return blocksOf(sent.at(-1) ?? expect.fail())
    .map(({ text }) => text)
    .join("\n");
}

test("a turn's first request begins with what the request before it said, although notes match and tools are called", async () => {
  const { say } = startThread();
  const shares: number[] = [];
  let before: string | undefined;
  for (const { text, answer, calls } of withTools(oneLiners(30))) {
    const sent = await say(text, { calls, answer });
    expect(sent).toHaveLength(calls.length + 1);
    if (before !== undefined) shares.push(keptShare(before, sent[0] ?? ""));
    before = sent.at(-1);
  }
  // With this many notes, the history outgrows its limit once or twice, and is cut then.
  expect(shares.filter((share) => share < leastKept).length).toBeLessThanOrEqual(2);
});

describe("the model is told", () => {
  const aboutVault = "where is the vault, and how does it open?";
  const aboutSchedules = "which schedules do I have?";
  const howToSchedule = "in the person's own words; don't compute dates yourself";

  test.each([
    ["a note", aboutVault, "PELICAN-31"],
    ["the body of a skill", aboutSchedules, howToSchedule],
  ])(
    "the model is told %s that the message needs: at first, again, in another thread, and after starting over",
    async (_, text, fact) => {
      const { say, place } = startThread();
      expect(readIn(await say(text))).toContain(fact);
      await say("thanks");
      expect(readIn(await say(text))).toContain(fact);
      expect(readIn(await startThread().say(text))).toContain(fact);
      await ann.command("new", "", place());
      expect(readIn(await say(text))).toContain(fact);
    },
  );

  test("the model reads what a person has attached, also in the next turn", async () => {
    const { say } = startThread();
    const file = { name: "menu.txt", mimeType: "text/plain", content: "On Friday there is HERRING-7.\n" };
    const attachments = [await ann.upload(randomUUID(), file)];
    expect(readIn(await say("what is there on Friday?", { attachments }))).toContain("HERRING-7");
    expect(readIn(await say("and who likes that?"))).toContain("HERRING-7");
  });

  test("the model reads what a tool has said, in the same turn and two turns later", async () => {
    const { say } = startThread();
    const calls = ['write_file {"path":"birds.txt","content":"HERON-58"}', 'read_file {"path":"birds.txt"}'];
    expect(readIn(await say("which bird is it?", { calls })).match(/HERON-58/g)).toHaveLength(2);
    await say("thanks");
    expect(readIn(await say("which one was it?")).match(/HERON-58/g)?.length).toBeGreaterThanOrEqual(2);
  });

  test("the model is told what people have approved, in the next turn and in another thread", async () => {
    const { say } = startThread();
    await say("publish it", { calls: ['shell_exec {"command":"echo GREBE-4","network":["example.com"]}'] });
    const decided = /GREBE-4.{0,80}approved.{0,80}decided by Ann/s;
    expect(readIn(await say("thanks"))).toMatch(decided);
    expect(readIn(await startThread().say("hello"))).toMatch(decided);
  });

  test("the model is told who speaks, by name and id, and the time, also if another person goes on", async () => {
    const { say } = startThread();
    const ben = await createChatClient(remora.url, remora.token, "ben");
    const minutes = () => new Date().toISOString().slice(0, 16);
    for (const [person, name, id] of [
      [ann, "Ann", "local:ann"],
      [ben, "Ben", "local:ben"],
      [ann, "Ann", "local:ann"],
    ] as const) {
      const from = minutes();
      const newest = readIn(await say("hello", { person }))
        .split('"role":"assistant"')
        .at(-1);
      expect(newest).toContain(name);
      expect(newest).toContain(id);
      expect([from, minutes()].some((minute) => newest?.includes(minute))).toBe(true);
    }
    ben.close();
  });
});
