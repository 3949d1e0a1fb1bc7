/** The commands about memory and models, over a real memory, store and ledger. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { exportCommand } from "../../src/commands/export-command.ts";
import { memoryCommand } from "../../src/commands/memory-command.ts";
import { createModelChoice } from "../../src/commands/model-command.ts";
import { createTimeZones } from "../../src/commands/time-zone-command.ts";
import { usageCommand } from "../../src/commands/usage-command.ts";
import { createConversationRegistry } from "../../src/engine/conversation/conversation-registry.ts";
import { silentLog } from "../../src/lib/log.ts";
import { asCode } from "../../src/lib/text/sanitize.ts";
import type { CommandHandler } from "../../src/ports/command.ts";
import type { InboundCommand } from "../../src/ports/message.ts";
import type { Store } from "../../src/ports/store.ts";
import { createKeyvStore } from "../../src/storage/keyv/store.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createPriceList } from "../../src/usage/prices.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { noLimits } from "../doubles/turn-deps.ts";
import { ann, bob, createMemoryFixture, episode, type MemoryFixture } from "../memory/fixture.ts";

type Place = Partial<Pick<InboundCommand, "conversationId" | "scope" | "by" | "isBesideThreads">>;

function asking(handler: CommandHandler) {
  return (rest = "", place: Place = {}) =>
    handler.run({
      ...{ platform: "test", conversationId: "test:c1", scope: "channel:general", by: ann, at: 1 },
      ...{ name: handler.usage.split(" ", 1)[0] ?? "", rest },
      ...place,
    });
}

describe("time zones", () => {
  const store = createKeyvStore({ path: ":memory:" });
  afterAll(() => store.close());

  test("a person's zone is the one they set, then that of their profile, then the machine's, and each is named", async () => {
    const timeZones = createTimeZones(store, () => Date.parse("2026-11-28T21:00:00Z"));
    const { command, withZone } = timeZones;
    const ask = asking(command);
    const inLondon = { ...ann, timeZone: "Europe/London" };
    expect(await ask()).toContain("I don't know your time zone, so I use mine");
    expect(await ask("", { by: inLondon })).toContain(
      "the zone of your profile, `Europe/London`, where it is 21:00 now",
    );
    expect(await ask("america/new york", { by: inLondon })).toContain("`America/New_York`, where it is 16:00 now");
    expect(await ask("", { by: inLondon })).toContain("You have set `America/New_York`");
    expect(await withZone("test", inLondon)).toEqual({ ...ann, timeZone: "America/New_York" });
    expect(await withZone("other", inLondon)).toEqual(inLondon);
    expect(await withZone("test", bob)).toEqual(bob);
    await timeZones.forget("test", ann.id);
    expect(await withZone("test", inLondon)).toEqual(inLondon);
    await ask("Asia/Tokyo");
    expect(await ask("auto", { by: inLondon })).toContain("the zone of your profile");
    expect(await withZone("test", inLondon)).toEqual(inLondon);
  });

  test.each(["Nowhere/X", "+02:00", "UTC+2", "`x`", "../../etc/passwd", "9"])(
    "%j is no time zone, and nothing changes",
    async (zone) => {
      const { command, withZone } = createTimeZones(store);
      expect(await asking(command)(zone)).toMatch(/^I don't know a time zone/);
      expect(await withZone("test", ann)).toEqual(ann);
    },
  );
});

describe("memory and export", () => {
  let fixture: MemoryFixture;
  beforeEach(() => {
    fixture = createMemoryFixture();
  });
  afterEach(() => fixture.remove());
  const dm: Place = { scope: "dm:U1", conversationId: "test:dm" };

  test("an empty memory says so", async () => {
    expect(await asking(memoryCommand(fixture.memory))()).toContain("Remembered in this channel: 0 entries");
    expect(
      await asking(exportCommand({ exportAll: (_platform, { id }) => fixture.memory.exportAll({ userId: id }) }))(
        "",
        dm,
      ),
    ).toBe("I remember nothing about you.");
  });

  test("counts, newest entries and notes are those of the place and of what is shared", async () => {
    const { memory } = fixture;
    // An entry of several passages counts once, and decisions, which no list shows, not at all.
    await memory.saveEpisode(
      episode({ turnId: "long", userText: "long", at: episode().at - 60_000, response: "chatter ".repeat(1_000) }),
    );
    await memory.recordFeedback({
      ...{ id: "f", turnId: "one", scope: "channel:general", at: episode().at },
      ...{ tool: "shell_exec", outcome: "approved", by: ann, summary: "ls" },
    });
    for (const [index, text] of ["one", "two", "three", "four", "five", "six"].entries()) {
      await memory.saveEpisode(episode({ turnId: text, userText: text, at: episode().at + index * 60_000 }));
    }
    await memory.saveEpisode(episode({ scope: "dm:U1", turnId: "private", userText: "private words" }));
    await memory.knowledge.write("channel:general", "House rules", "No shoes.");
    await memory.knowledge.write("shared", "Holidays", "Fridays.");
    const said = await asking(memoryCommand(memory))();
    expect(said).toContain("in this channel: 8 entries, including 1 note. Shared with every conversation: 1 note.");
    expect(said).toContain("Notes here: `house-rules`.");
    expect(said).toContain("Shared notes: `holidays`.");
    expect(said.match(/UTC `(\w+)`/g)).toEqual(
      ["six", "five", "four", "three", "two"].map((word) => `UTC \`${word}\``),
    );
    expect(said).not.toContain("private");
    expect(await asking(memoryCommand(memory))("private words")).toContain("I remember nothing here about");
    expect(await asking(memoryCommand(memory))("shoes")).toContain("No shoes.");
  });

  test("what is found can't format the answer, whatever it says", async () => {
    const nasty = "shoes ``` # head\n\n- list @everyone <!channel> [x](http://y) \u202Egnp.exe";
    await fixture.memory.saveEpisode(episode({ userText: nasty }));
    const said = await asking(memoryCommand(fixture.memory))("shoes");
    const outside = said.replace(/(`+) ?.+? ?\1(?!`)/g, "");
    expect(outside.replace(/[^#@<[\]\u202E]/g, "")).toBe("");
  });

  test("a long export comes in parts that together are everything, and only in one's own DM", async () => {
    const words = Array.from({ length: 60 }, (_, index) => `line ${index} ${"x".repeat(900)}`);
    for (const [index, text] of words.entries()) {
      await fixture.memory.saveEpisode(episode({ scope: "dm:U1", turnId: `t${index}`, userText: text }));
    }
    const run = asking(exportCommand({ exportAll: (_platform, { id }) => fixture.memory.exportAll({ userId: id }) }));
    const first = await run("", dm);
    const [, count = "0"] = /^Part 1 of (\d+)/.exec(first) ?? [];
    expect(Number(count)).toBeGreaterThan(1);
    const parts = await Promise.all(Array.from({ length: Number(count) }, (_, index) => run(String(index + 1), dm)));
    for (const word of words) expect(parts.join("\n")).toContain(word);
    for (const part of parts) expect(part.length).toBeLessThan(20_500);
    for (const wrong of ["0", String(Number(count) + 1), "x", "1.5"])
      expect(await run(wrong, dm)).toContain("no such part");
    expect(await run()).toContain("in a direct message");
    expect(await run("", { ...dm, by: bob })).toContain("in a direct message");
  });

  test("any text becomes one line of code that nothing in it ends", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), fc.integer({ min: 1, max: 60 }), (text, limit) => {
        const span = asCode(text, limit);
        const [, ticks = "", inside = ""] = /^(`+)([\s\S]*?)\1$/.exec(span) ?? [];
        expect(ticks).not.toBe("");
        expect(inside.includes(ticks)).toBe(false);
        expect(span).not.toMatch(/[\n\r\u2028\u202E]/);
      }),
    );
  });
});

describe("model", () => {
  let store: Store;
  beforeEach(() => {
    store = createKeyvStore({ path: ":memory:" });
  });
  afterEach(() => store.close());

  const open = (models = ["a/one", "b/two", "b/three"]) =>
    createModelChoice({ store, models, isConversation: async (id) => id.startsWith("test:c1:") });
  const thread: Place = { conversationId: "test:c1:t1" };
  const dm: Place = { conversationId: "test:dm", scope: "dm:U1" };

  test("lists what there is and which one is asked first", async () => {
    const run = asking(open().command);
    expect(await run()).toContain("- `a/one` — used here by default\n- `b/two`\n- `b/three`");
    await run("b/two");
    expect(await run()).toContain("- `a/one`\n- `b/two` — used here\n");
    expect(await asking(open(["a/one"]).command)()).toBe("- `a/one` — used here by default");
  });

  test("in a thread or a DM it is for that conversation; in a channel for those without a choice of their own", async () => {
    const { command, preferred } = open();
    const run = asking(command);
    await run("b/two", thread);
    expect(await run("B/Three")).toContain("without their own choice use `b/three`");
    await run("a/one", dm);
    expect(await preferred("test:c1:t1", "channel:general")).toBe("b/two");
    expect(await preferred("test:c1:t2", "channel:general")).toBe("b/three");
    expect(await preferred("test:dm", "dm:U1")).toBe("a/one");
    expect(await preferred("test:c9:t1", "channel:other")).toBeUndefined();
    expect(await run("default", thread)).toContain("the channel's choice, `b/three`");
    expect(await preferred("test:c1:t1", "channel:general")).toBe("b/three");
    expect(await run("default")).toContain("Back to the default");
    expect(await preferred("test:c1:t1", "channel:general")).toBeUndefined();
  });

  test("beside the threads of a DM it is for all of them, in place of a choice from before they were conversations", async () => {
    const { command, preferred } = open();
    const run = asking(command);
    await run("b/two", dm);
    expect(await preferred("test:dm:t1", "dm:U1")).toBe("b/two");
    const beside: Place = { conversationId: "test:dm:t1", scope: "dm:U1", isBesideThreads: true };
    expect(await run("b/three", beside)).toContain("all threads in this DM use `b/three`");
    for (const id of ["test:dm", "test:dm:t1", "test:dm:t2"]) expect(await preferred(id, "dm:U1")).toBe("b/three");
    expect(await run("default", beside)).toContain("Back to the default for all threads in this DM");
    for (const id of ["test:dm", "test:dm:t1"]) expect(await preferred(id, "dm:U1")).toBeUndefined();
  });

  test("one that is not there changes nothing and is answered with those that are", async () => {
    const { command, preferred } = open();
    expect(await asking(command)("c/`four`")).toMatch(/no model .*four.*\. Available: `a\/one`, `b\/two`, `b\/three`/);
    expect(await preferred("test:c1:t1", "channel:general")).toBeUndefined();
  });

  test("a choice that is no longer offered is passed over", async () => {
    await asking(open().command)("b/two", dm);
    expect(await open(["a/one"]).preferred("test:dm", "dm:U1")).toBeUndefined();
    expect(await open().preferred("test:dm", "dm:U1")).toBe("b/two");
  });
});

describe("usage", () => {
  test("shows the person's, the conversation's and the channel's, everyone's to owners, and unknown cost as unknown", async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    const limits = { ...noLimits, userTokensPerDay: 5_000 };
    const configured = { "a/one": { input: 3, output: 15 } };
    const priceOf = createPriceList({ configured, hasOwnAddress: () => false });
    const meter = createUsageMeter({ ledger, priceOf, limits, log: silentLog });
    const run = asking(usageCommand({ meter, ledger, limits, isOwner: (_platform, by) => by.id === "U2" }));
    expect(await run()).toContain("**you**, today: nothing, limit 5,000 tokens a day");

    const turn = turnRecord({ scope: "channel:general", messages: [inboundMessage({ author: ann })] });
    for (const model of ["a/one", "a/two"]) {
      const permit = await meter.admit(turn);
      const usage = { ...noUsage, inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 20 };
      if (permit.type === "admitted") await permit.count({ model, usage, addedMs: 4 }).written;
    }
    const said = await run();
    expect(said).toMatch(
      /\*\*you\*\*, today: 2 model calls, 2,240 tokens \(2,040 in, 200 out; 40 of 2,040 from the cache \(1 %\)\)/,
    );
    expect(said).toContain(
      "$0.00456 plus 1 call of unknown cost, and Remora itself took 4 ms per call, limit 5,000 tokens a day",
    );
    expect(said).toContain("**this channel**, today: 2 model calls");
    expect(said).not.toContain("everyone");
    const owners = await run("", { by: bob });
    expect(owners).toContain("**everyone**, today: 2 model calls");
    expect(owners).toContain(
      "most with: `a/one` $0.00456 (1 % from the cache), `a/two` cost unknown (1 % from the cache)",
    );
    await ledger.close();
  });
});

test("conversations are known with everyone who took part, also when two turns end at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "remora-known-"));
  const ledger = createSqliteLedger({ path: join(folder, "ledger.db") });
  const known = createConversationRegistry(ledger);
  const turnBy = (author: typeof ann) => turnRecord({ messages: [inboundMessage({ author })] });
  await Promise.all([known.note(turnBy(ann)), known.note(turnBy(bob)), known.note(turnBy(ann))]);
  const [only, ...others] = await known.list();
  expect(others).toEqual([]);
  expect(only).toMatchObject({ id: "test:c1", scope: "channel:c1" });
  expect(only?.userIds.toSorted()).toEqual(["U1", "U2"]);
  await ledger.close();
  rmSync(folder, { recursive: true });
});
