/** Drafts as people see them: one card per turn, two people in one folder, and the next turn. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createDraftWorld, type DraftWorld } from "./draft-kills/world.ts";

const run = promisify(execFile);
const dayMs = 86_400_000;

let world: DraftWorld;
let remora: RunningRemora;
let ann: ChatClient;
beforeEach(async () => {
  world = await createDraftWorld("embedded");
  remora = await startRemora(world.home, world.env);
  ann = await createChatClient(remora.url, remora.token);
});
afterEach(async () => {
  ann.close();
  await remora.stop();
  await world.close();
});

type Place = { channel: string; thread?: string };

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const shell = (command: string) => call("shell_exec", { command });
/** A command that the shell skill asks about, so the turn waits. */
const pause = shell("docker rm web");
const atSite: Place = { channel: "random" };

/** The message, and its thread. */
async function say(calls: string[], place: Place = atSite): Promise<{ said: SeenMessage; place: Place }> {
  const said = await ann.say(`@remora ${calls.join(" then ")}`, place);
  return { said, place: { ...place, thread: place.thread ?? said.id } };
}

function cards(thread: string | undefined): SeenMessage[] {
  return [...ann.seen.values()].filter((message) => message.type === "card" && message.thread === thread);
}

function isAfter(message: SeenMessage, said: SeenMessage, thread: string | undefined): boolean {
  return message.author.isBot && message.thread === thread && message.sequence > said.sequence;
}

async function answerTo({ said, place }: { said: SeenMessage; place: Place }): Promise<SeenMessage> {
  return await ann.waitFor(
    (message) =>
      isAfter(message, said, place.thread) &&
      message.type === "message" &&
      /Finished|Stopped|⚠️/.test(message.text) &&
      message.state !== "streaming",
  );
}

/** The card about the message's changes. */
async function changesCard({ said, place }: { said: SeenMessage; place: Place }): Promise<SeenMessage> {
  return await ann.waitFor(
    (message) => isAfter(message, said, place.thread) && message.card?.items[0]?.changes !== undefined,
  );
}

async function outcome({ id }: SeenMessage, expected: RegExp): Promise<SeenMessage> {
  return await ann.waitFor((message) => message.id === id && expected.test(message.card?.items[0]?.outcome ?? ""));
}

/** Names, contents and link targets of everything in the folder. */
async function stateOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const states = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) return [path, "folder"];
    const content = entry.isSymbolicLink() ? await readlink(path) : await readFile(path);
    return [path, createHash("sha256").update(content).digest("hex")];
  });
  return Object.fromEntries(await Promise.all(states));
}

const git = async (...args: string[]) => (await run("git", ["-C", world.site, ...args])).stdout;

describe("a turn of eight steps in a git checkout", () => {
  const commit = (message: string) =>
    shell(`git add -A && git -c user.name=Remora -c user.email=remora@example.com commit -q -m '${message}'`);
  const steps = [
    shell("git status --short && git log --oneline"),
    call("edit_file", { path: "sum.sh", old_text: "$1 - $2", new_text: "$1 + $2" }),
    shell("sh test.sh"),
    commit("fix the sum"),
    call("write_file", { path: "docs/usage.md", content: "# Usage\n" }),
    shell("git rm -q old.txt && sh test.sh"),
    commit("describe the usage"),
    shell("git log --oneline && git status --short"),
  ];

  beforeEach(async () => {
    await writeFile(join(world.site, "sum.sh"), "echo $(($1 - $2))\n");
    await writeFile(join(world.site, "test.sh"), '[ "$(sh sum.sh 1 2)" = 3 ] && echo passed\n');
    await writeFile(join(world.site, "old.txt"), "old\n");
    await git("init", "-q", "-b", "main");
    await git("add", "-A");
    await git("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", "begin");
  });

  test("shows one card, and approving it keeps everything", async () => {
    const before = await stateOf(world.site);
    const turn = await say(steps);
    expect((await answerTo(turn)).text).toContain("describe the usage");
    const card = await changesCard(turn);
    expect(await stateOf(world.site)).toEqual(before);
    expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
    await outcome(card, /Kept/);
    expect(cards(turn.place.thread)).toHaveLength(1);
    expect((await git("log", "--format=%s")).trim().split("\n")).toEqual([
      "describe the usage",
      "fix the sum",
      "begin",
    ]);
    expect(await git("status", "--short")).toBe("");
    await git("fsck", "--strict");
    expect(await readdir(world.site)).not.toContain("old.txt");
    expect((await run("sh", ["test.sh"], { cwd: world.site })).stdout).toBe("passed\n");
  });

  test("shows one card, and denying it leaves every byte as it was", async () => {
    const before = await stateOf(world.site);
    const turn = await say(steps);
    const card = await changesCard(turn);
    expect(await ann.click(card, "deny")).toMatchObject({ accepted: true });
    await outcome(card, /denied/);
    await expect.poll(() => readdir(join(world.home.workspace, "drafts/open"))).toEqual([]);
    expect(await stateOf(world.site)).toEqual(before);
    expect(cards(turn.place.thread)).toHaveLength(1);
  });
});

describe("two people in one folder", () => {
  test("a file that somebody else changed after the card is not overwritten, and Do it again uses it", async () => {
    const file = join(world.site, "list.txt");
    await writeFile(file, "one\n");
    const turn = await say([shell("echo two >> list.txt")]);
    const card = await changesCard(turn);
    await writeFile(file, "zero\none\n");
    await ann.click(card, "approve");
    const refused = await outcome(card, /Nothing was kept: list\.txt has changed/);
    expect(refused.card?.items[0]?.choices).toEqual(["again"]);
    expect(await readFile(file, "utf8")).toBe("zero\none\n");
    expect(await ann.click(refused, "again")).toMatchObject({ accepted: true });
    const second = await ann.waitFor(
      ({ type, thread, id, state }) =>
        type === "card" && thread === turn.place.thread && id !== card.id && state === "waiting",
    );
    await ann.click(second, "approve");
    await outcome(second, /Kept/);
    expect(await readFile(file, "utf8")).toBe("zero\none\ntwo\n");
    expect((await outcome(card, /ran it again/)).card?.items[0]?.choices).toEqual([]);
  });

  test.each([
    ["the same file: the second is asked about", "shared.txt", true],
    ["different files: both are kept", "other.txt", false],
  ])("two threads of one channel that change %s", async (_name, second, asks) => {
    const place = { channel: "general" };
    await writeFile(join(world.own, "shared.txt"), "start\n");
    const slow = await say([shell("echo slow >> shared.txt"), pause], place);
    const waiting = await ann.cardFor(slow.said);
    const quick = await say([shell(`echo quick >> ${second}`)], place);
    await outcome(await changesCard(quick), /Kept/);
    await ann.click(waiting, "deny");
    await answerTo(slow);
    const card = await ann.waitFor(
      (message) => isAfter(message, slow.said, slow.place.thread) && message.card?.items[0]?.changes !== undefined,
    );
    const shared = () => readFile(join(world.own, "shared.txt"), "utf8");
    if (!asks) {
      await outcome(card, /Kept/);
      expect(await shared()).toBe("start\nslow\n");
      expect(await readFile(join(world.own, "other.txt"), "utf8")).toBe("quick\n");
      return;
    }
    expect(card.card?.items[0]?.changes?.summary).toContain("Somebody else changed shared.txt");
    expect(await shared()).toBe("start\nquick\n");
    await ann.click(card, "deny");
    await outcome(card, /denied/);
    expect(await shared()).toBe("start\nquick\n");
  });
});

describe("the next turn of the conversation", () => {
  test("continues on an undecided draft, asks about all of it, and learns the decision", async () => {
    const first = await say([shell("echo one > first.txt")]);
    const older = await changesCard(first);
    const second = await say([shell("cat first.txt && echo two > second.txt")], first.place);
    expect((await answerTo(second)).text).toContain("one");
    const newer = await ann.waitFor(
      ({ id, type, state, thread }) =>
        type === "card" && state === "waiting" && thread === first.place.thread && id !== older.id,
    );
    const replaced = await outcome(older, /Continued below/);
    expect(replaced.card?.items[0]?.choices).toEqual([]);
    expect(await ann.click(replaced, "approve")).toMatchObject({ accepted: false });
    const { changes } = newer.card?.items[0] ?? {};
    expect(changes?.files.map(({ path }) => path).toSorted()).toEqual(["first.txt", "second.txt"]);
    expect(changes?.diff).toMatch(/\+one[\s\S]*\+two/);
    expect(await readdir(world.site)).toEqual([]);
    await ann.click(newer, "approve");
    await outcome(newer, /Kept/);
    expect((await readdir(world.site)).toSorted()).toEqual(["first.txt", "second.txt"]);
    const asked = world.model.requests.length;
    await answerTo(await say(["What happened?"], first.place));
    expect(world.model.requests.slice(asked).join("\n")).toContain("approved the changes in site, and they were kept");
    const told = world.model.requests.length;
    const last = await say(["And now?"], first.place);
    await answerTo(last);
    expect(newNotes(world.model.requests.slice(told))).not.toContain("approved the changes in site");
  });

  test("learns why nothing was kept after a denial", async () => {
    const first = await say([shell("echo one > first.txt")]);
    const card = await changesCard(first);
    await ann.click(card, "deny", { reason: "use tabs" });
    await outcome(card, /denied/);
    const asked = world.model.requests.length;
    await answerTo(await say(["What happened?"], first.place));
    expect(world.model.requests.slice(asked).join("\n")).toMatch(/were not kept\. .*use tabs/);
  });
});

describe("a stopped or failed turn", () => {
  test("keeps nothing when stopped, but its draft can be kept", async () => {
    const turn = await say([shell("echo one > first.txt"), pause]);
    await ann.cardFor(turn.said);
    await ann.command("stop", "", turn.place);
    const card = await changesCard(turn);
    expect(card.card?.items[0]?.changes?.labels).toEqual({ approve: "Keep", deny: "Discard" });
    expect(await readdir(world.site)).toEqual([]);
    await ann.click(card, "approve");
    await outcome(card, /Kept/);
    expect(await readdir(world.site)).toEqual(["first.txt"]);
  });

  test("keeps nothing in the conversation's own folder either, and the next turn continues on the draft", async () => {
    const turn = await say([shell("echo one > first.txt"), pause], { channel: "general" });
    await ann.cardFor(turn.said);
    await ann.command("stop", "", turn.place);
    const card = await changesCard(turn);
    expect(await readdir(world.own)).toEqual([]);
    const next = await say([shell("cat first.txt && echo two > second.txt")], turn.place);
    expect((await answerTo(next)).text).toContain("one");
    await outcome(card, /Continued below/);
    await expect.poll(async () => (await readdir(world.own)).toSorted()).toEqual(["first.txt", "second.txt"]);
  });

  test("keeps nothing when it fails, and the draft is discarded after 24 hours", async () => {
    const turn = await say([shell("echo one > first.txt"), pause]);
    const waiting = await ann.cardFor(turn.said);
    await world.model.close();
    await ann.click(waiting, "deny");
    const card = await changesCard(turn);
    const { id = "", changes } = { id: card.card?.items[0]?.approvalId, changes: card.card?.items[0]?.changes };
    expect(changes?.labels).toEqual({ approve: "Keep", deny: "Discard" });
    expect(changes?.summary).toContain("The turn failed");
    const ledger = await world.ledger();
    const expiresAt = (await ledger.get("approval", id))?.body.expiresAt ?? 0;
    expect(Math.abs(expiresAt - Date.now() - dayMs)).toBeLessThan(dayMs / 24);
    await ledger.transition("approval", id, ["open"], "open", (body) => ({ ...body, expiresAt: Date.now() - 1 }));
    await outcome(card, /in time/);
    await expect.poll(() => readdir(join(world.home.workspace, "drafts/open"))).toEqual([]);
    expect(await readdir(world.site)).toEqual([]);
    expect((await ledger.list("draft", {})).map(({ state }) => state)).toEqual(["discarded"]);
  });
});

describe("a background job", () => {
  test("joins the card of a turn during which it ends", async () => {
    const job = call("shell_exec", { command: "echo job > job.txt", background: true });
    const turn = await say([job, shell("echo turn > turn.txt"), pause]);
    const waiting = await ann.cardFor(turn.said);
    const ledger = await world.ledger();
    const joined = async () => {
      const [draft] = await ledger.list("draft", { states: ["open"] });
      const folder = join(world.home.workspace, "drafts/open", draft?.id ?? "", "layer");
      return (await readdir(folder)).toSorted();
    };
    await expect.poll(joined).toEqual(["job.txt", "turn.txt"]);
    await ann.click(waiting, "deny");
    const card = await changesCard(turn);
    expect(card.card?.items[0]?.changes?.files.map(({ path }) => path).toSorted()).toEqual(["job.txt", "turn.txt"]);
    await ann.click(card, "approve");
    await outcome(card, /Kept 2 files/);
    expect((await readdir(world.site)).toSorted()).toEqual(["job.txt", "turn.txt"]);
  });
});

/** News in the newest message; earlier messages may contain earlier news. */
function newNotes(requests: readonly string[]): string {
  return requests
    .map((request) => JSON.stringify((JSON.parse(request) as { messages: unknown[] }).messages.at(-1)))
    .join("\n");
}
