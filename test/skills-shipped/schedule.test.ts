/** The schedule skill for real: SKILL.md, gate, plugin, and schedules on a ledger. */
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import plugin from "../../skills/schedule/plugin.ts";
import { readTime } from "../../skills/schedule/time.ts";
import { createGate } from "../../src/gate/gate.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Author, InboundMessage, JsonObject } from "../../src/ports/message.ts";
import type { PluginContext } from "../../src/ports/plugin.ts";
import { createSchedules } from "../../src/schedules/schedules.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { atOnce } from "../doubles/at-once.ts";
import { runs } from "../faults/share.ts";
import { isOk, makePlace, skillsFolder, textOf } from "./place.ts";
import { placedCases, recurrenceCases, timeCases } from "./schedule-cases.ts";

const set = await loadSkills([join(skillsFolder, "schedule")]);
const gate = createGate({ rules: gateRules(set), matching: "extended" });
/** A Saturday afternoon in Berlin, 14:00 UTC. */
const now = Date.parse("2026-11-21T14:00:00Z");

test("it loads without a word to say about it", () => {
  expect(set.diagnostics).toEqual([]);
  expect(gate.diagnostics()).toEqual([]);
});

test.each(set.skills.flatMap((skill) => skill.gateTests))("$tool $args is $want", ({ tool, args, want }) => {
  expect(gate.classify(tool, args).class).toBe(want);
});

describe("times as people say them", () => {
  test.each(timeCases)("%s is %s", (words, wanted) => {
    const read = readTime(words, "Europe/Berlin", now);
    expect(read).toEqual({ type: "time", time: { type: "once", at: Date.parse(wanted) } });
  });

  test.each(placedCases)("%s in %s, said at %s, is %s", (words, timeZone, saidAt, wanted) => {
    const read = readTime(words, timeZone, Date.parse(saidAt));
    expect(read).toEqual({ type: "time", time: { type: "once", at: Date.parse(wanted) } });
  });

  test.each(recurrenceCases)("%s recurs as %s", (words, expression) => {
    const read = readTime(words, "Europe/Berlin", now);
    expect(read).toEqual({ type: "time", time: { type: "cron", expression, timeZone: "Europe/Berlin" } });
  });

  test.each([
    ["yesterday", "has passed"],
    ["2020-01-01 10:00", "has passed"],
    ["2027-02-30T10:00:00Z", "not a time that I understand"],
    ["every fortnight", "that I understand"],
    ["every 7 minutes", "that I understand"],
    ["tomorrow at 9 with Bob", "that I understand"],
    ["soonish", "that I understand"],
    ["", "that I understand"],
    ["99 99 * * *", "that I understand"],
  ])("%j is refused with what to say instead", (words, problem) => {
    expect(readTime(words, "Europe/Berlin", now)).toMatchObject({
      type: "unclear",
      problem: expect.stringContaining(problem),
    });
  });

  test("a wrong time zone is named", () => {
    expect(readTime("tomorrow", "Mars/Olympus", now)).toMatchObject({
      problem: expect.stringContaining("Mars/Olympus"),
    });
  });

  test("whatever is said, it is a time ahead or a problem", () => {
    const word = fc.constantFrom(
      "every",
      "at",
      "9",
      "25:00",
      "monday",
      "in",
      "2",
      "hours",
      "on",
      "the",
      "31st",
      "*",
      "noon",
    );
    const words = fc.oneof(
      fc.string(),
      fc.array(word, { maxLength: 6 }).map((parts) => parts.join(" ")),
    );
    fc.assert(
      fc.property(words, (text) => {
        const read = readTime(text, "America/New_York", now);
        if (read.type === "time" && read.time.type === "once") expect(read.time.at).toBeGreaterThan(now);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe("the tools", () => {
  async function open() {
    const place = await makePlace();
    const ledger = createSqliteLedger({ path: ":memory:" });
    const accepted: InboundMessage[] = [];
    let ownerNow = async (owner: Author): Promise<Author | undefined> => owner;
    const schedules = createSchedules({
      ledger,
      accept: async (message) => accepted.push(message),
      ownerNow: ({ owner }) => ownerNow(owner),
      log: silentLog,
    });
    onTestFinished(async () => {
      await ledger.close();
      await place.remove();
    });
    const contextOf = (person: string): PluginContext => {
      const context = place.context("schedule", { config: { timeZone: "Europe/Berlin" } });
      const owner = { ...context.requester, id: person, name: person };
      const spot = { platform: "local", conversationId: context.conversationId, scope: context.scope, owner };
      return {
        ...context,
        schedules: {
          add: (schedule) => schedules.add({ ...spot, ...schedule }),
          list: () => schedules.list(owner, context.scope),
          remove: (id) => schedules.remove(id, owner, context.scope),
        },
      };
    };
    const run = async (tool: string, input: JsonObject, person = "ann") =>
      await plugin.execute(tool, input, contextOf(person));
    const ownerBecomes = (owner: Author | undefined) => {
      ownerNow = async () => owner;
    };
    return { run, schedules, accepted, ownerBecomes };
  }

  test("sixty schedules that one person adds at the same instant stay within the limit of fifty", async () => {
    const { schedules } = await open();
    const owner: Author = { id: "ann", name: "Ann", isBot: false, roles: [] };
    const spot = { platform: "local", conversationId: "local:c", scope: "channel:c" as const, owner };
    const time = { type: "once" as const, at: Date.now() + 3_600_000 };
    const { done, refused } = await atOnce(60, (index) =>
      schedules.add({ ...spot, time, text: `number ${index}`, purpose: "remind" }),
    );
    expect([done.length, refused.length]).toEqual([50, 10]);
    expect(refused[0]).toContain("Ann already has 50 schedules here");
    expect(await schedules.list(owner, spot.scope)).toHaveLength(50);
  });

  test("a reminder is listed, said when it is due, and gone then", async () => {
    const { run, schedules, accepted } = await open();
    const added = await run("schedule_add", { text: "Call the dentist", when: "in 20 minutes", kind: "remind" });
    expect(textOf(added)).toMatch(/^Scheduled as [0-9a-f]{8}: .*\(Europe\/Berlin\)\.$/);
    expect(textOf(await run("schedule_list", {}))).toContain("Call the dentist");
    await schedules.sweep(Date.now() + 19 * 60_000);
    expect(accepted).toEqual([]);
    await schedules.sweep(Date.now() + 21 * 60_000);
    await schedules.sweep(Date.now() + 21 * 60_000);
    expect(accepted).toMatchObject([{ author: { id: "ann" }, conversationId: "local:dm:ann", isAddressed: true }]);
    expect(accepted[0]?.text).toContain("Call the dentist");
    expect(textOf(await run("schedule_list", {}))).toContain("This person has no schedules");
  });

  test("what is due has the rights that its owner has then, and nothing is done for one who has left", async () => {
    const { run, schedules, accepted, ownerBecomes } = await open();
    for (const when of ["in 10 minutes", "in 30 minutes"]) await run("schedule_add", { text: "x", when, kind: "do" });
    const now = { id: "ann", name: "Ann", isBot: false, roles: ["guest"] };
    ownerBecomes(now);
    await schedules.sweep(Date.now() + 11 * 60_000);
    expect(accepted.map(({ author }) => author)).toEqual([now]);
    ownerBecomes(undefined);
    await schedules.sweep(Date.now() + 31 * 60_000);
    expect(accepted).toHaveLength(1);
    expect(textOf(await run("schedule_list", {}))).toContain("This person has no schedules");
  });

  test("others neither see nor remove it", async () => {
    const { run } = await open();
    const added = textOf(await run("schedule_add", { text: "Mine", when: "tomorrow", kind: "remind" }));
    const [, id = ""] = /as (\w+):/.exec(added) ?? [];
    expect(textOf(await run("schedule_list", {}, "ben"))).toContain("This person has no schedules");
    expect(isOk(await run("schedule_remove", { id }, "ben"))).toBe(false);
    expect(isOk(await run("schedule_remove", { id }))).toBe(true);
    expect(isOk(await run("schedule_remove", { id }))).toBe(false);
  });

  test("what can't be scheduled is an answer that says why", async () => {
    const { run } = await open();
    const often = await run("schedule_add", { text: "x", when: "every 1 minute", kind: "do" });
    expect([isOk(often), textOf(often)]).toEqual([false, expect.stringContaining("5 minutes")]);
    const late = await run("schedule_add", { text: "x", when: "yesterday", kind: "remind" });
    expect([isOk(late), textOf(late)]).toEqual([false, expect.stringContaining("has passed")]);
  });
});
