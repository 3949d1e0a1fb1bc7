/** The operator answers approvals on the command line and the dashboard, with and without a running agent. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseFeedback } from "../../src/memory/feedback.ts";
import type { Ended } from "../cli/remora-command.ts";
import { remoraHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

let home: RemoraHome;
let remora: RunningRemora;
let ann: ChatClient;

beforeEach(async () => {
  home = await createHome();
  remora = await startRemora(home);
  ann = await createChatClient(remora.url, remora.token);
});
afterEach(async () => {
  ann.close();
  await remora.stop();
  await home.remove();
});

function approvals(...given: string[]): Promise<Ended> {
  return remoraHere(dirname(home.data), "approvals", ...given);
}

interface ListedCard {
  cardId: string;
  conversationId: string;
  requester: string;
  items: { approvalId: string; tool: string; call: string; headline: string; why: string[]; state: string }[];
}

async function listed(): Promise<ListedCard[]> {
  const { code, stdout } = await approvals("list", "--json");
  expect(code).toBe(0);
  return JSON.parse(stdout) as ListedCard[];
}

const settled = (card: SeenMessage) => ann.waitFor(({ id, state }) => id === card.id && state !== "waiting");
/** The turn's text after its card. */
const answerBelow = (card: SeenMessage) =>
  ann.waitFor(
    ({ type, state, thread, sequence }) =>
      type === "message" && state !== "streaming" && thread === card.thread && sequence > card.sequence,
  );
/** A command that ran has a draft, unless it was kept. */
const draftsOnDisk = () => readdir(join(home.workspace, "drafts/open")).catch(() => []);
const filesOf = (scope: string) => readdir(join(home.workspace, "files", scope)).catch(() => []);

async function corpus(): Promise<{ event: string; [field: string]: unknown }[]> {
  const folder = join(home.workspace, "brain/corpus");
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .join("")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

async function feedbackOf(scope: string) {
  const folder = join(home.workspace, "brain/basalganglia", scope);
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return parseFeedback(texts.join("\n"));
}

/** Resolves to the channel's decision lines, which are written while the turn continues. */
async function recorded(outcome: string) {
  const lines = async () => (await feedbackOf("channel:general")).filter((line) => line.outcome === outcome);
  await expect.poll(async () => (await lines()).length, { timeout: 5_000 }).toBeGreaterThan(0);
  return await lines();
}

async function newestPrompt(): Promise<string> {
  const folder = join(home.workspace, "brain/prefrontal/.debug");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
  return await readFile(join(folder, names.at(-1) ?? ""), "utf8");
}

test("the list shows the whole call, approve with an id prefix runs it, and the card says who approved", async () => {
  expect((await approvals("list")).stdout).toBe("No approvals waiting.\n");
  const said = await ann.say("@remora run touch from-afar.txt with network example.com");
  const card = await ann.cardFor(said);
  const shown = await approvals("list");
  expect(shown.stdout).toContain('command: "touch from-afar.txt"');
  expect(shown.stdout).toContain("asked by Ann");
  const [open] = await listed();
  const approvalId = open?.items[0]?.approvalId ?? "";
  const why = await approvals("why", approvalId);
  expect(why.stdout.split("\n")).toEqual([
    "Run `touch from-afar.txt`",
    expect.stringMatching(/^ {2}\S/),
    ...why.stdout.split("\n").slice(2),
  ]);
  expect(await approvals("why", "not-an-open-card-here")).toMatchObject({ code: 1, stdout: "" });
  expect(open?.items).toMatchObject([
    { tool: "shell_exec", state: "open", why: expect.arrayContaining([expect.stringContaining("network")]) },
  ]);

  expect(await approvals("approve", approvalId.slice(0, 8))).toMatchObject({ code: 0, stdout: "Approved.\n" });
  const after = await settled(card);
  expect(after.card?.items).toMatchObject([{ choices: [], outcome: expect.stringContaining("The operator approved") }]);
  await answerBelow(card);
  await ann.changesFor(said);
  expect(await filesOf("channel:general")).toEqual(["from-afar.txt"]);

  const again = await approvals("approve", approvalId, "--json");
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({
    accepted: false,
    text: expect.stringContaining("The operator approved"),
  });
  expect(await filesOf("channel:general")).toEqual(["from-afar.txt"]);
});

test("after deny with a reason nothing runs, the model reads it, and one record says who and after how long", async () => {
  const said = await ann.say("@remora run touch never.txt with network example.com");
  const card = await ann.cardFor(said);
  const [open] = await listed();
  const denied = await approvals("deny", open?.cardId ?? "", "--reason", "not on a Friday", "--json");
  expect(denied).toMatchObject({ code: 0 });
  expect(JSON.parse(denied.stdout)).toEqual({ accepted: true, text: "Denied." });
  expect((await answerBelow(card)).text).toContain("not on a Friday");
  expect((await settled(card)).card?.items[0]?.outcome).toMatch(/^The operator denied .*: “not on a Friday/);
  expect([await filesOf("channel:general"), await draftsOnDisk()]).toEqual([[], []]);

  expect(await recorded("denied")).toMatchObject([
    { tool: "shell_exec", by: { id: "operator" }, waitedSeconds: expect.any(Number) },
  ]);
  const events = (await corpus()).filter(({ event }) => /^safety\.(?:confirm|denied)$/.test(event));
  expect(events).toMatchObject([
    { event: "safety.confirm", callHash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    { event: "safety.denied", by: "operator", reason: "not on a Friday", waitedMs: expect.any(Number) },
  ]);
  expect(events[1]?.callHash).toBe(events[0]?.callHash);
  const rule = { skill: "remora", line: expect.any(Number), form: "exact" };
  expect(events[1]?.rules).toEqual(expect.arrayContaining([expect.objectContaining(rule)]));
});

test("an unknown id changes nothing and says what to do", async () => {
  await ann.cardFor(await ann.say("@remora run touch one.txt with network example.com"));
  await ann.cardFor(await ann.say("@remora run touch two.txt with network example.com"));
  for (const [id, says] of [
    ["zzzzzz", "is no open card or approval"],
    ["ab", "is too short"],
    ["AAAAAAAAAAAAAAAAAAAAAA", "no longer valid"],
  ] as const) {
    const { code, stdout, stderr } = await approvals("approve", id);
    expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(says)]);
  }
  expect(await listed()).toHaveLength(2);
});

test("a decision made while no agent runs counts at the next start, once", async () => {
  const said = await ann.say("@remora run echo ran >> once.txt with network example.com");
  const card = await ann.cardFor(said);
  ann.close();
  await remora.stop();
  const [open] = await listed();
  expect(await approvals("approve", open?.cardId ?? "")).toMatchObject({ code: 0 });
  for (let start = 0; start < 2; start++) {
    remora = await startRemora(home);
    ann = await createChatClient(remora.url, remora.token);
    await answerBelow(card);
    await settled(card);
    await ann.changesFor(said);
    if (start === 0) {
      ann.close();
      await remora.stop();
    }
  }
  expect(await readFile(join(home.workspace, "files/channel:general/once.txt"), "utf8")).toBe("ran\n");
  expect(await recorded("approved")).toMatchObject([{ by: { id: "operator" } }]);
  expect((await corpus()).filter(({ event }) => event === "safety.approved")).toHaveLength(1);
});

test("the dashboard answers the same way, and only that scope's next prompt has the denial", async () => {
  const said = await ann.say("@remora run touch marmalade.txt with network example.com");
  const card = await ann.cardFor(said);
  const data = (await (await ann.request("GET", "/dashboard/data")).json()) as {
    approvals: { id: string; call: string }[];
  };
  expect(data.approvals).toMatchObject([{ call: expect.stringContaining("touch marmalade.txt") }]);
  const decision = { cardOrApprovalId: data.approvals[0]?.id, choice: "deny", reason: "no jam" };
  expect(await (await ann.request("POST", "/dashboard/answers", decision)).json()).toEqual({
    accepted: true,
    text: "Denied.",
  });
  await answerBelow(card);
  expect([await filesOf("channel:general"), await draftsOnDisk()]).toEqual([[], []]);
  expect(await recorded("denied")).toHaveLength(1);

  await ann.answerTo(await ann.say("@remora hello"));
  const here = await newestPrompt();
  expect(here).toMatch(/shell_exec .*touch marmalade\.txt.*: denied .*decided by the operator/);
  await ann.answerTo(await ann.say("hello", { dm: true }));
  expect(await newestPrompt()).not.toContain("marmalade");
  await ann.answerTo(await ann.say("@remora hello", { channel: "random" }));
  expect(await newestPrompt()).not.toContain("marmalade");
});
