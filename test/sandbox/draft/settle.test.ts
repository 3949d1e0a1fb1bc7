/** What happens to a draft when its turn ends and when people answer, from the first command to keeping. */
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AnswerReceipt } from "../../../src/ports/message.ts";
import { ann, type Bench, ben, createBench, given, own } from "./draft-bench.ts";

let bench: Bench;
let isRepeatRefused = false;
let onShow = () => {};
beforeEach(async () => {
  isRepeatRefused = false;
  onShow = () => {};
  bench = await createBench({ isRepeatRefused: () => isRepeatRefused, onShow: () => onShow() });
});
afterEach(() => bench.close());

const contentOf = (name: string, conversationId = own) => readFile(join(bench.folder(conversationId), name), "utf8");
const namesIn = (conversationId = own) => readdir(bench.folder(conversationId));
const outcomeNow = async () => (await bench.cardNow()).items[0]?.outcome;

describe("a turn in the conversation's own folder", () => {
  test("that only looks around asks nobody and leaves nothing", async () => {
    await bench.write("a.txt", "one\n");
    const turn = await bench.startTurn();
    expect((await bench.run(turn, "cat a.txt; ls")).text).toContain("one");
    await bench.end(turn);
    expect(bench.shown).toEqual([]);
    expect(await bench.openDraft()).toBeUndefined();
    expect(await readdir(join(bench.draftsFolder, "open"))).toEqual([]);
  });

  test("sees what earlier calls changed, and the folder changes at its end only", async () => {
    const turn = await bench.startTurn();
    await bench.run(turn, "echo one > a.txt");
    expect((await bench.run(turn, "cat a.txt; echo two >> a.txt")).text).toBe("one");
    expect(await namesIn()).toEqual([]);
    await bench.end(turn);
    expect(await contentOf("a.txt")).toBe("one\ntwo\n");
  });

  test("keeps a file that can run by itself without asking, and its post says so", async () => {
    const turn = await bench.startTurn();
    await bench.run(turn, "echo x > .envrc; echo new > a.txt");
    await bench.end(turn);
    const [item] = bench.shown.at(-1)?.items ?? [];
    expect(item).toMatchObject({
      state: "consumed",
      changes: { files: [{ path: ".envrc", warning: "can run by itself outside the sandbox" }, { path: "a.txt" }] },
    });
    expect(await contentOf(".envrc")).toBe("x\n");
  });

  test("is reported with Undo, which gives the folder back as it was", async () => {
    await bench.write("a.txt", "before\n");
    const turn = await bench.startTurn();
    await bench.run(turn, "echo after > a.txt; echo new > b.txt");
    await bench.end(turn);
    const [item] = bench.shown.at(-1)?.items ?? [];
    expect(item).toMatchObject({
      state: "consumed",
      outcome: "Kept without asking — Working folder: 1 file changed, 1 added",
    });
    expect(item?.choices).toContain("undo");
    expect(item?.changes?.title).toBe("Working folder: 1 file changed, 1 added");
    expect(await bench.click("undo")).toMatchObject({ accepted: true, text: expect.stringContaining("Undone") });
    expect(await contentOf("a.txt")).toBe("before\n");
    expect(await namesIn()).toEqual(["a.txt"]);
    expect(await outcomeNow()).toBe(
      "Kept without asking, then undone by Ann — Working folder: 1 file changed, 1 added",
    );
  });

  test("that overwrites what somebody else wrote while its command ran asks", async () => {
    await bench.write("a.txt", "one\n");
    await bench.write("b.txt", "one\n");
    const turn = await bench.startTurn();
    const { signal } = new AbortController();
    await bench.call(turn, async ({ commands }) => {
      const running = await commands?.run("echo two >> a.txt; echo two >> b.txt", signal);
      running?.output.resume();
      await running?.ended;
      await bench.write("a.txt", "by hand\n");
      return { isOk: true, text: "", files: [], isRetryable: false };
    });
    await bench.end(turn);
    expect(await contentOf("a.txt")).toBe("by hand\n");
    const [item] = bench.shown.at(-1)?.items ?? [];
    expect(item?.changes?.summary).toMatch(/^Somebody else changed a\.txt in the meantime\./);
    await bench.click("approve");
    expect([await contentOf("a.txt"), await contentOf("b.txt")]).toEqual(["one\ntwo\n", "one\ntwo\n"]);
  });

  test("that deletes more than half of the folder asks", async () => {
    for (const name of ["a", "b", "c"]) await bench.write(name, name);
    const turn = await bench.startTurn();
    await bench.run(turn, "rm a b");
    await bench.end(turn);
    expect(bench.shown.at(-1)?.items[0]?.changes?.summary).toBe(
      "This deletes or empties more than half of the folder.",
    );
    expect((await namesIn()).toSorted()).toEqual(["a", "b", "c"]);
    await bench.click("approve");
    expect(await namesIn()).toEqual(["c"]);
  });

  test("whose changes took themselves back is as if nothing had happened", async () => {
    await bench.write("a.txt", "one\n");
    const turn = await bench.startTurn();
    await bench.run(turn, "echo two > b.txt");
    await bench.run(turn, "rm b.txt");
    await bench.end(turn);
    expect(bench.shown).toEqual([]);
    expect(await bench.openDraft()).toBeUndefined();
  });
});

describe("a turn in a folder that people configured", () => {
  async function changed() {
    await bench.write("a.txt", "one\n", given);
    await bench.write("b.txt", "bye\n", given);
    const turn = await bench.startTurn(given);
    await bench.run(turn, "rm b.txt; echo two >> a.txt; echo new > c.txt");
    await bench.end(turn);
    return turn;
  }
  const isUnchanged = async () =>
    expect([await contentOf("a.txt", given), (await namesIn(given)).toSorted()]).toEqual(["one\n", ["a.txt", "b.txt"]]);

  test("that was allowed in advance keeps nothing before its post is there", async () => {
    await changed();
    await bench.click("allow");
    onShow = () => {
      throw new Error("the service is down");
    };
    const turn = await bench.startTurn(given);
    await bench.run(turn, "echo three >> a.txt");
    await bench.end(turn);
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\n");
    onShow = () => {};
    await bench.drafts.settleDecided(turn.id);
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\nthree\n");
    expect(bench.shown.at(-1)?.items[0]).toMatchObject({ isGranted: true, changes: { files: [{ path: "a.txt" }] } });
  });

  test("asks once, deletions first, and changes nothing before", async () => {
    await changed();
    expect(bench.shown).toHaveLength(1);
    const [item] = bench.shown[0]?.items ?? [];
    expect(item?.changes?.title).toBe("website: 1 file deleted, 1 changed, 1 added");
    expect(item?.changes?.files.map(({ path, action }) => [action, path])).toEqual([
      ["deleted", "b.txt"],
      ["changed", "a.txt"],
      ["added", "c.txt"],
    ]);
    expect(item?.changes?.diff).toContain("+two");
    await isUnchanged();
  });

  test("approved keeps all of it; the next turn is told once", async () => {
    await changed();
    expect((await bench.click("approve")).accepted).toBe(true);
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\n");
    expect((await namesIn(given)).toSorted()).toEqual(["a.txt", "c.txt"]);
    expect(await outcomeNow()).toBe("Ann approved “Delete 1, change 1 and add 1 file in website”. Kept 3 files.");
    const next = await bench.startTurn(given);
    expect(await bench.drafts.news(next)).toEqual(["Ann approved the changes in website, and they were kept."]);
    expect(await bench.drafts.news(next)).toHaveLength(1);
    expect(await bench.drafts.news(await bench.startTurn(given))).toEqual([]);
  });

  test("denied keeps nothing, and says who and why to the next turn", async () => {
    await changed();
    await bench.click("deny");
    await isUnchanged();
    expect(await bench.openDraft(given)).toBeUndefined();
    expect(await bench.drafts.news(await bench.startTurn(given))).toEqual([
      expect.stringContaining("Ann denied the changes"),
    ]);
  });

  test("shows the diff of what Approve keeps and of nothing else: not once somebody has changed one of its files", async () => {
    await bench.write("a.txt", "one\n", given);
    const turn = await bench.startTurn(given);
    await bench.run(turn, "seq 5000 > a.txt");
    await bench.end(turn);
    expect((await bench.click("diff")).file?.text).toContain("\n+5000\n");
    await bench.write("a.txt", "by hand\n", given);
    expect(await bench.click("diff")).toEqual({
      accepted: false,
      text: expect.stringMatching(/have changed since this card/),
    });
    await bench.click("approve");
    expect(await contentOf("a.txt", given)).toBe("by hand\n");
  });

  test("can't be approved if it can't be shown whole; a file that is deleted needs no more than its name and size", async () => {
    await bench.write("large.csv", "a,b\n".repeat(3_000_000), given);
    const turn = await bench.startTurn(given);
    await bench.run(turn, "echo c,d >> large.csv");
    await bench.end(turn);
    expect((await bench.cardNow()).items[0]).toMatchObject({
      choices: ["deny", "diff"],
      facts: [expect.stringContaining("large.csv has 11.4 MiB.")],
    });
    expect(await bench.click("approve")).toMatchObject({ accepted: false });
    await bench.click("deny");
    const next = await bench.startTurn(given);
    await bench.run(next, "rm large.csv; echo x > small.txt");
    await bench.end(next);
    expect((await bench.click("approve")).accepted).toBe(true);
    expect(await namesIn(given)).toEqual(["small.txt"]);
  });

  test("in part keeps the chosen files alone", async () => {
    await changed();
    expect((await bench.click("part", ann, { parts: [1] })).accepted).toBe(true);
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\n");
    expect((await namesIn(given)).toSorted()).toEqual(["a.txt", "b.txt"]);
    expect(await outcomeNow()).toContain("The other files were discarded.");
  });

  test("is not kept once somebody else changed one of its files; Do it again takes the request up anew", async () => {
    await changed();
    await bench.write("a.txt", "mine\n", given);
    await bench.click("approve");
    expect(await contentOf("a.txt", given)).toBe("mine\n");
    expect(await namesIn(given)).toContain("b.txt");
    expect(await outcomeNow()).toContain("a.txt has changed in the meantime");
    expect((await bench.cardNow()).items[0]?.choices).toEqual(["again"]);
    isRepeatRefused = true;
    expect(await bench.click("again")).toMatchObject({ accepted: false });
    expect(bench.accepted).toEqual([]);
    expect(await bench.openDraft(given)).toBeDefined();
    isRepeatRefused = false;
    expect(await bench.click("again")).toMatchObject({ accepted: true });
    expect(bench.accepted.map(({ text, author }) => [text, author.id])).toEqual([["do it", "ann"]]);
    expect(await bench.openDraft(given)).toBeUndefined();
  });

  test("keeps what is not touched by the change of somebody else", async () => {
    await changed();
    await bench.write("other.txt", "mine\n", given);
    await bench.click("approve");
    expect((await namesIn(given)).toSorted()).toEqual(["a.txt", "c.txt", "other.txt"]);
  });

  test("not decided yet goes on in the next turn: one draft, one card, the old one says so", async () => {
    await changed();
    const [first] = bench.shown;
    const turn = await bench.startTurn(given);
    expect((await bench.run(turn, "cat a.txt; echo three >> a.txt")).text).toBe("one\ntwo");
    await bench.end(turn);
    expect(bench.shown).toHaveLength(2);
    const old = await bench.cardNow(first);
    expect(old.items[0]).toMatchObject({ state: "cancelled", outcome: "Continued below.", choices: [] });
    expect((await bench.click("approve", ann, { card: first as NonNullable<typeof first> })).accepted).toBe(false);
    await isUnchanged();
    await bench.click("approve");
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\nthree\n");
  });

  test("of two people's turns is asked for by both, and both must agree", async () => {
    await changed();
    const turn = await bench.startTurn(given, ben);
    await bench.run(turn, "echo three >> a.txt");
    await bench.end(turn);
    const { id = "" } = bench.shown.at(-1) ?? {};
    const rows = await bench.ledger.list("approval", { states: ["open"] });
    const row = rows.find(({ body }) => body.cardId === id);
    expect(row?.body).toMatchObject({ requester: { id: "ben" }, alsoAsked: ["ann"] });
    await bench.click("approve", ben);
    await isUnchanged();
    await bench.click("approve", ann);
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\nthree\n");
  });

  test("of two people's turns may be denied by either", async () => {
    await changed();
    const turn = await bench.startTurn(given, ben);
    await bench.run(turn, "echo three >> a.txt");
    await bench.end(turn);
    await bench.click("deny", ann);
    await isUnchanged();
    expect((await bench.cardNow(bench.shown.at(-1))).items[0]).toMatchObject({ state: "denied" });
  });

  test("whose next turn only looks around keeps its card", async () => {
    await changed();
    const turn = await bench.startTurn(given);
    expect((await bench.run(turn, "cat a.txt")).text).toBe("one\ntwo");
    await bench.end(turn);
    expect(bench.shown).toHaveLength(1);
    await bench.click("approve");
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\n");
  });

  test.each(["stopped", "failed"] as const)(
    "that was %s keeps nothing by itself, and offers Keep and Discard",
    async (how) => {
      const turn = await bench.startTurn(given);
      await bench.run(turn, "echo half > a.txt");
      await bench.end(turn, how);
      const [item] = bench.shown.at(-1)?.items ?? [];
      expect(item?.changes?.labels).toEqual({ approve: "Keep", deny: "Discard" });
      expect(item?.choices).not.toContain("allow");
      expect(await namesIn(given)).toEqual([]);
      await bench.click("approve");
      expect(await contentOf("a.txt", given)).toBe("half\n");
    },
  );

  test("is looked at by somebody else, who can neither answer nor undo", async () => {
    await changed();
    expect(await bench.click("approve", ben)).toMatchObject({ accepted: false });
    await isUnchanged();
    await bench.click("approve");
    expect(await bench.click("undo", ben)).toMatchObject({ accepted: false, text: expect.stringContaining("Ann") });
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\n");
  });
});

describe("a stopped turn in the conversation's own folder", () => {
  test("keeps nothing by itself either", async () => {
    const turn = await bench.startTurn();
    await bench.run(turn, "echo half > a.txt");
    await bench.end(turn, "stopped");
    expect(await namesIn()).toEqual([]);
    await bench.click("deny");
    expect(await namesIn()).toEqual([]);
    expect(await readdir(join(bench.draftsFolder, "open"))).toEqual([]);
  });
});

describe("two conversations with one folder", () => {
  test("do not see each other's drafts, and the later one asks when both changed a file", async () => {
    await bench.write("a.txt", "one\n");
    const first = await bench.startTurn();
    const other = { ...(await bench.startTurn("test:c1:thread2")), workingFolder: bench.folder() };
    await bench.run(first, "echo first > a.txt; echo x > first.txt");
    expect((await bench.run(other, "cat a.txt; ls")).text).toBe("one\na.txt");
    await bench.run(other, "echo other > a.txt");
    await bench.end(first);
    expect(await contentOf("a.txt")).toBe("first\n");
    await bench.end(other);
    expect(await contentOf("a.txt")).toBe("first\n");
    const [item] = bench.shown.at(-1)?.items ?? [];
    expect(item?.changes?.summary).toContain("Somebody else changed a.txt in the meantime.");
    await bench.click("approve");
    expect(await contentOf("a.txt")).toBe("other\n");
  });

  test("both keep at once what does not touch the same files", async () => {
    const first = await bench.startTurn();
    const other = { ...(await bench.startTurn("test:c1:thread2")), workingFolder: bench.folder() };
    await bench.run(first, "echo 1 > first.txt");
    await bench.run(other, "echo 2 > other.txt");
    await Promise.all([bench.end(first), bench.end(other)]);
    expect((await namesIn()).toSorted()).toEqual(["first.txt", "other.txt"]);
    expect(bench.shown.map(({ items }) => items[0]?.outcome)).toEqual([
      expect.stringMatching(/^Kept without asking — /),
      expect.stringMatching(/^Kept without asking — /),
    ]);
  });
});

describe("undo by command", () => {
  async function keepOne(command: string) {
    const turn = await bench.startTurn();
    await bench.run(turn, command);
    await bench.end(turn);
  }

  test("takes back the newest first, then the one before, and then says that there is nothing", async () => {
    await keepOne("echo 1 > a.txt");
    await keepOne("echo 2 > a.txt");
    expect((await bench.drafts.undoNewest("channel:c1", ann)).accepted).toBe(true);
    expect(await contentOf("a.txt")).toBe("1\n");
    expect((await bench.drafts.undoNewest("channel:c1", ann)).accepted).toBe(true);
    expect(await namesIn()).toEqual([]);
    expect(await bench.drafts.undoNewest("channel:c1", ann)).toEqual({
      accepted: false,
      text: "There is nothing to undo here.",
    });
  });

  test("takes back what was kept last, even if a turn was told of older changes since", async () => {
    const turn = await bench.startTurn(given);
    await bench.run(turn, "echo 1 > approved.txt");
    await bench.end(turn);
    await bench.click("approve");
    await keepOne("echo 2 > newest.txt");
    expect(await bench.drafts.news(await bench.startTurn(given))).toHaveLength(1);
    expect((await bench.drafts.undoNewest("channel:c1", ann)).accepted).toBe(true);
    expect(await namesIn()).toEqual([]);
    expect(await namesIn(given)).toEqual(["approved.txt"]);
  });

  test("works as soon as the card is shown", async () => {
    await keepOne("echo 1 > older.txt");
    const undone = new Promise<AnswerReceipt>((resolve) => {
      onShow = () => resolve(bench.drafts.undoNewest("channel:c1", ann));
    });
    await keepOne("echo 2 > newest.txt");
    expect((await undone).accepted).toBe(true);
    expect(await namesIn()).toEqual(["older.txt"]);
  });

  test("does nothing when something newer changed the same file, and names it", async () => {
    await keepOne("echo 1 > a.txt");
    await bench.write("a.txt", "by hand\n");
    expect(await bench.drafts.undoNewest("channel:c1", ann)).toMatchObject({
      accepted: false,
      text: expect.stringContaining("a.txt"),
    });
    expect(await contentOf("a.txt")).toBe("by hand\n");
    await writeFile(join(bench.folder(), "a.txt"), "1\n");
  });

  test("is for whoever asked for the changes or may approve them", async () => {
    await keepOne("echo 1 > a.txt");
    expect((await bench.drafts.undoNewest("channel:c1", ben)).accepted).toBe(false);
    expect((await bench.drafts.undoNewest("channel:c2", ann)).accepted).toBe(false);
    expect(await contentOf("a.txt")).toBe("1\n");
  });

  test("is told to the next turn", async () => {
    await keepOne("echo 1 > a.txt");
    await bench.drafts.undoNewest("channel:c1", ann);
    expect(await bench.drafts.news(await bench.startTurn())).toEqual([
      "Ann undid the changes of an earlier turn in the working folder.",
    ]);
  });

  test("twice at once happens once", async () => {
    await keepOne("echo 1 > a.txt");
    const receipts = await Promise.all([
      bench.drafts.undoNewest("channel:c1", ann),
      bench.drafts.undoNewest("channel:c1", ann),
    ]);
    expect(receipts.filter(({ accepted }) => accepted)).toHaveLength(1);
    expect(await namesIn()).toEqual([]);
  });
});

describe("where the audit can't be written", () => {
  const full = new Error("the disk is full");

  test("nothing is kept by the rules; the card says why, and Approve keeps it once it can be written", async () => {
    const turn = await bench.startTurn();
    await bench.run(turn, "echo one > a.txt");
    bench.audit.failure = full;
    await bench.end(turn);
    expect(await namesIn()).toEqual([]);
    expect(bench.shown.at(-1)?.items[0]?.changes?.summary).toBe("Nothing was kept: the disk is full.");
    bench.audit.failure = undefined;
    await bench.click("approve");
    expect(await contentOf("a.txt")).toBe("one\n");
    const keeping = bench.audit.lines.filter(({ name }) => name === "changes.keeping");
    expect(keeping).toMatchObject([
      { fields: { approvalId: bench.shown.at(-1)?.items[0]?.approvalId, turnId: turn.id } },
    ]);
  });

  test("nothing is undone", async () => {
    const turn = await bench.startTurn();
    await bench.run(turn, "echo one > a.txt");
    await bench.end(turn);
    bench.audit.failure = full;
    expect(await bench.click("undo")).toEqual({ accepted: false, text: "Nothing was undone: the disk is full." });
    expect(await contentOf("a.txt")).toBe("one\n");
    bench.audit.failure = undefined;
    expect((await bench.click("undo")).accepted).toBe(true);
    expect(await namesIn()).toEqual([]);
  });

  test("no network is opened for a command", async () => {
    const turn = await bench.startTurn();
    bench.audit.failure = full;
    const calling = bench.run(turn, "echo ran > a.txt", { network: ["example.com"], callId: "c9" });
    await expect(calling).rejects.toThrow("the disk is full");
    bench.audit.failure = undefined;
    await bench.run(turn, "echo ran > a.txt", { network: ["example.com"], callId: "c10" });
    expect(bench.audit.lines).toMatchObject([
      { name: "network.opening", fields: { callId: "c10", hosts: ["example.com"] } },
    ]);
  });
});

describe("a folder that is gone", () => {
  test("when the draft is decided is not made again; the card says so, and the draft stays for a day", async () => {
    const turn = await bench.startTurn(given);
    await bench.run(turn, "echo new > c.txt");
    await bench.end(turn);
    await rm(bench.folder(given), { recursive: true });
    await bench.click("approve");
    expect(await outcomeNow()).toContain("Nothing was kept: the folder no longer exists.");
    await expect(readdir(bench.folder(given))).rejects.toThrow("ENOENT");
    expect(await bench.openDraft(given)).toBeDefined();
  });
});

describe("a grant", () => {
  test("keeps what the same person asks for next in the same folder, and asks when files are deleted", async () => {
    await bench.write("a.txt", "one\n", given);
    const first = await bench.startTurn(given);
    await bench.run(first, "echo two >> a.txt");
    await bench.end(first);
    expect(bench.shown.at(-1)?.items[0]?.choices).toContain("allow");
    await bench.click("allow");
    const second = await bench.startTurn(given);
    await bench.run(second, "echo three >> a.txt");
    await bench.end(second);
    expect(await contentOf("a.txt", given)).toBe("one\ntwo\nthree\n");
    const third = await bench.startTurn(given);
    await bench.run(third, "rm a.txt");
    await bench.end(third);
    expect(await namesIn(given)).toEqual(["a.txt"]);
    expect(bench.shown.at(-1)?.items[0]?.state).toBe("open");
  });

  test("does not cover a draft that an earlier turn has written to after reading what others wrote", async () => {
    await bench.close();
    const tainted = new Set<string>();
    bench = await createBench({ isTainted: ({ id }) => tainted.has(id) });
    const first = await bench.startTurn(given);
    await bench.run(first, "echo one > a.txt");
    await bench.end(first);
    await bench.click("allow");
    const second = await bench.startTurn(given);
    tainted.add(second.id);
    await bench.run(second, "echo from the page > b.txt");
    await bench.end(second);
    const third = await bench.startTurn(given);
    await bench.run(third, "echo three > c.txt");
    await bench.end(third);
    expect(await namesIn(given)).toEqual(["a.txt"]);
    expect(bench.shown.at(-1)?.items[0]).toMatchObject({ state: "open" });
  });

  test("does not hold for somebody else's request", async () => {
    const first = await bench.startTurn(given);
    await bench.run(first, "echo one > a.txt");
    await bench.end(first);
    await bench.click("allow");
    const second = await bench.startTurn(given, ben);
    await bench.run(second, "echo two > b.txt", { by: ben });
    await bench.end(second);
    expect(bench.shown.at(-1)?.items[0]?.state).toBe("open");
    expect(await namesIn(given)).toEqual(["a.txt"]);
  });
});
