/** Time as the field sends it: gaps that a schedule hides, schedules that nobody can see, and people's own zones. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { machineTimeZone } from "../../src/lib/time-zones.ts";
import type { Author, InboundMessage } from "../../src/ports/message.ts";
import type { ScheduleTime } from "../../src/ports/schedule.ts";
import { createSchedules } from "../../src/schedules/schedules.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { startCallingModel } from "../doubles/calling-model.ts";
import { createHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";
import type { Person } from "../doubles/slack/state.ts";

const ann: Author = { id: "ann", name: "Ann", isBot: false, roles: [] };
const spot = { platform: "slack", conversationId: "slack:c", scope: "channel:c" as const, owner: ann };
const minuteMs = 60_000;

function openSchedules(now: () => number) {
  const ledger = createSqliteLedger({ path: ":memory:" });
  onTestFinished(() => ledger.close());
  const accepted: InboundMessage[] = [];
  const schedules = createSchedules({
    ledger,
    accept: async (message) => accepted.push(message),
    ownerNow: async ({ owner }) => owner,
    log: silentLog,
    now,
  });
  const add = async (time: ScheduleTime) => await schedules.add({ ...spot, purpose: "do", text: "look", time });
  return { ledger, accepted, schedules, add };
}

describe("the smallest gap of a schedule", () => {
  /** At none of these hours do the first two runs show the gap. */
  const addedAt = Date.parse("2026-11-28T12:30:00Z");

  test.each([
    ["0,5-59 21 * * *", "a list that begins with a long gap"],
    ["0,30,32 9 * * 1-5", "a list"],
    ["*/7 * * * *", "a step that does not divide the hour"],
    ["*/29 * * * *", "a step whose last gap is short"],
    ["2,58 0,23 * * *", "times on both sides of midnight"],
    ["2,58 0,23 14,15 6 *", "times on both sides of midnight, on two days of the year"],
    ["0,3 12 29 2 *", "a leap day"],
    ["0,40 0 9 * * *", "seconds"],
    ["0,57 1,3 * * *", "the hour that the clocks skip"],
  ])("a schedule of %s is refused, because some of its runs are less than 5 minutes apart: %s", async (expression) => {
    const { add } = openSchedules(() => addedAt);
    const added = add({ type: "cron", expression, timeZone: "Europe/Berlin" });
    await expect(added).rejects.toThrow(/apart; the shortest interval is 5 minutes/);
  });

  test.each([
    "*/5 * * * *",
    "3-58/5 * * * *",
    "0 2,3 * * *",
    "*/30 * * * *",
    "0 */2 * * *",
    "0,55 0,23 1 * *",
    "@hourly",
    "0 9 L * *",
    "30 1,2,3 * * *",
  ])(
    "a schedule of %s is taken, whether its zone changes the clocks by an hour, by half an hour or never",
    async (expression) => {
      const { add } = openSchedules(() => addedAt);
      for (const timeZone of ["Europe/Berlin", "Australia/Lord_Howe", "UTC"])
        await expect(add({ type: "cron", expression, timeZone })).resolves.toMatchObject({ text: "look" });
    },
  );

  test("a schedule that was stored before its gaps were checked runs at most every 5 minutes", async () => {
    let now = Date.parse("2026-11-28T20:59:00Z");
    const { ledger, accepted, schedules } = openSchedules(() => now);
    const nextAt = Date.parse("2026-11-28T21:00:00Z");
    const time = { type: "cron" as const, expression: "0,5-59 21 * * *", timeZone: "UTC" };
    const body = { ...spot, purpose: "do" as const, text: "look", time, nextAt, createdAt: now };
    await ledger.create("schedule", "old", { state: "active", body, group: spot.scope });
    for (; now < Date.parse("2026-11-28T22:10:00Z"); now += minuteMs / 2) await schedules.sweep(now);
    expect(accepted).toHaveLength(12);
  });
});

test("a schedule whose owner can't be looked up is tried again every half minute, not at every sweep", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  onTestFinished(() => ledger.close());
  let tries = 0;
  const schedules = createSchedules({
    ...{ ledger, log: silentLog, accept: async () => {} },
    ownerNow: async () => {
      tries += 1;
      throw new Error("the service refuses to say");
    },
  });
  const from = Date.now() + minuteMs;
  await schedules.add({ ...spot, purpose: "do", text: "look", time: { type: "once", at: from } });
  for (let at = from; at < from + 5 * minuteMs; at += 2_000) await schedules.sweep(at);
  expect(tries).toBe(10);
  expect(await schedules.all()).toHaveLength(1);
});

test("on Slack, times are those of the person who asks, and a schedule that nobody can see ends and tells an owner once", {
  timeout: 180_000,
}, async () => {
  const [home, model, slack] = await Promise.all([createHome(), startCallingModel(), createSlackDouble()]);
  let remora: RunningRemora | undefined;
  onTestFinished(async () => {
    await remora?.stop();
    await Promise.all([model.close(), slack.stop(), home.remove()]);
  });
  slack.ann.timeZone = "America/New_York";
  slack.ben.timeZone = null;
  const dan = slack.workspace.addPerson({ name: "Dan", timeZone: "Nowhere/X" });
  slack.general.members.add(dan.id);
  const cleo = slack.workspace.addPerson({ name: "Cleo", isDeleted: true });
  const gone = slack.workspace.addChannel({ name: "gone", members: [slack.ann], isArchived: true });
  slack.workspace.direct(slack.ann).refuses = "messages_tab_disabled";
  const team = slack.ann.teamId;
  const due = (owner: { id: string }, channel: string, text: string) => ({
    ...{ platform: "slack", conversationId: `slack:${team}:${channel}`, scope: `channel:${channel}` as const, text },
    ...{ channelId: channel, spaceId: team, purpose: "do" as const },
    owner: { id: owner.id, name: owner === cleo ? "Cleo" : "Ann", isBot: false, roles: [] },
    time: { type: "cron" as const, expression: "*/5 * * * *", timeZone: "UTC" },
    ...{ nextAt: Date.now() - minuteMs, createdAt: Date.now() - 60 * minuteMs },
  });
  const stored = async <T>(work: (ledger: ReturnType<typeof createSqliteLedger>) => Promise<T>): Promise<T> => {
    const ledger = createSqliteLedger({ path: join(home.data, "ledger.db") });
    return await work(ledger).finally(() => ledger.close());
  };
  await mkdir(home.data, { recursive: true });
  await stored(async (ledger) => {
    const [unseen, left] = [
      due(slack.ann, gone.id, "Look at the logs"),
      due(cleo, slack.general.id, "Greet everybody"),
    ];
    await ledger.create("schedule", "unseen", { state: "active", body: unseen, group: unseen.scope });
    await ledger.create("schedule", "left", { state: "active", body: left, group: left.scope });
  });
  const config = join(dirname(home.data), "remora.yaml");
  await writeFile(config, JSON.stringify({ safety: { owners: [`user:slack:${slack.ben.id}`] } }));
  remora = await startRemora(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: config },
  });
  const bens = () => slack.see({ in: slack.workspace.direct(slack.ben) }).map(({ readable }) => readable);
  await slack.until(() => bens().length >= 2);
  expect(bens().toSorted()).toEqual([
    expect.stringMatching(/^Ann's schedule in #gone has ended, because nobody would see .* \(it is archived\)/),
    expect.stringMatching(/^Cleo's schedule in #general has ended, because Cleo is not here any more/),
  ]);
  expect(model.requests).toHaveLength(1);

  const tomorrow = 'call schedule_add {"text":"Tea","when":"tomorrow at 9","kind":"remind"}';
  const ask = async (as: Person, text: string, thread?: Said): Promise<{ said: Said; answer: string }> => {
    const said = slack.people.say({ ...{ as, in: slack.general, text: `@Remora ${text}` }, ...(thread && { thread }) });
    const answers = () => slack.see({ in: slack.general, thread: (thread ?? said).ts });
    const finished = await slack.until(() =>
      answers().find(({ isAgents, ts, readable }) => isAgents && ts > said.ts && readable.includes("Finished")),
    );
    return { said: thread ?? said, answer: finished.readable };
  };
  const { said, answer } = await ask(slack.ann, tomorrow);
  expect(answer).toMatch(/Scheduled as \w+: .*, 09:00 \(America\/New_York\)/);
  const first = model.requests.at(-1) ?? "";
  expect(first).toMatch(/time: \S+Z \(for them \w+day \d\d:\d\d America\/New_York\)/);

  // She travels, and what was said before keeps its words.
  await slack.interactions
    .command({ as: slack.ann, in: slack.general, command: "/remora", text: "timezone asia/tokyo" })
    .acknowledged();
  const { answer: later } = await ask(slack.ann, tomorrow, said);
  expect(later).toMatch(/, 09:00 \(Asia\/Tokyo\)/);
  const stamps = (request: string) => [...request.matchAll(/time: \S+Z \([^)]*\)/g)].map(([stamp]) => stamp);
  const last = stamps(model.requests.at(-1) ?? "");
  expect(last.slice(0, 1)).toEqual(stamps(first).slice(0, 1));
  expect(last.at(-1)).toMatch(/\(for them \w+day \d\d:\d\d Asia\/Tokyo\)$/);
  const { answer: listed } = await ask(slack.ann, "call schedule_list {}", said);
  expect(listed.match(/09:00 \(Asia\/Tokyo\)/g)).toHaveLength(1);

  for (const person of [slack.ben, dan]) {
    expect((await ask(person, tomorrow)).answer).toContain(`09:00 (${machineTimeZone()})`);
    expect(stamps(model.requests.at(-1) ?? "").at(-1)).toContain("(here ");
  }

  await remora.stop();
  remora = undefined;
  const active = await stored((ledger) => ledger.list("schedule", { states: ["active"] }));
  expect(active.map(({ body }) => body.text)).toEqual(["Tea", "Tea", "Tea", "Tea"]);
});
