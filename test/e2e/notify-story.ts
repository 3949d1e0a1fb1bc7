/** The story of a card that finds the people who can answer it, told on each chat service. Only agents that are killed are processes. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";

export interface Seen {
  id: string;
  text: string;
  /** Names of the people and roles who were notified when it was posted. */
  pings: string[];
  buttons: string[];
  /** `thread`, or the name of the person whose direct message it is. */
  place: string;
}

export interface Asked {
  thread(): Seen[];
}

/** Ann and Ben are in the channel. Cara and Dora are not. Ben has the role. */
export interface NotifyDriver {
  /** The channel, as named in `folders`. */
  channel: string;
  env(): Record<string, string>;
  approver(name: string): string;
  role: string;
  close(): Promise<void>;
  until<T>(find: () => T | undefined | false): Promise<T>;
  ask(text: string): Promise<Asked>;
  dm(name: string): Seen[];
  /** From now on, or until they are open again, direct messages to this person are refused. */
  openDms(name: string, areOpen: boolean): void;
  /** From now on, or until it is open again, the service refuses what the agent posts in the channel, for a reason that nobody knows. */
  openChannel(isOpen: boolean): void;
  /** From now on the person is no longer in the workspace, or only in the channel. */
  remove(name: string, from: "workspace" | "channel"): void;
  /** Whom the message may ping, as it was sent. */
  allowed(message: Seen): string[];
  /** Resolves to what only this person reads. */
  click(name: string, on: Seen, button: string): Promise<string>;
  handOver(name: string, on: Seen, to: string): Promise<string>;
}

const isCard = ({ buttons }: Seen) => buttons.includes("Approve");
const killPoints = resolve(import.meta.dirname, "../faults/kill-points.ts");

const allKills = ["card-posted", "card-kept", "copy-opened", "card-posted:2", "note-posted"];

type NotifyWorld = Awaited<ReturnType<typeof createWorld>>;

/** A workspace of the service, a home, and the agents on them. */
async function createWorld(createDriver: () => Promise<NotifyDriver>) {
  const [driver, home] = await Promise.all([createDriver(), createHome()]);
  const running: RunningRemora[] = [];
  let starts = 0;

  async function settingsOf(safety: Record<string, unknown>, more: object = {}): Promise<Record<string, string>> {
    const config = join(home.data, "..", `config-${starts++}.json`);
    await writeFile(config, JSON.stringify({ safety, ...more }));
    return { ...driver.env(), REMORA_CONFIG: config };
  }
  async function start(safety: Record<string, unknown>, more: object = {}): Promise<void> {
    running.push(await startRemora(home, await settingsOf(safety, more)));
  }
  async function startToBeKilled(safety: Record<string, unknown>, point: string): Promise<RemoraProcess> {
    const kill = { REMORA_PORT_WRAPPERS: killPoints, REMORA_KILL_AT: point };
    const started = await startProcess(home, { ...(await settingsOf(safety)), ...kill });
    running.push(started);
    return started;
  }
  async function stop(): Promise<void> {
    await Promise.all(running.splice(0).map((each) => each.stop()));
  }

  const cardIn = (asked: Asked) => driver.until(() => asked.thread().find(isCard));
  const copyFor = (name: string, words: string) =>
    driver.until(() => driver.dm(name).find((each) => isCard(each) && each.text.includes(words)));
  const settledIn = (place: () => Seen[], { id }: Seen) =>
    driver.until(() => place().find((each) => each.id === id && !isCard(each)));
  const textIn = (place: () => Seen[], words: string) =>
    driver.until(() => place().find(({ text }) => text.includes(words)));
  const linesOf = async (file: string) => {
    const folders = await readdir(join(home.workspace, "files"));
    const texts = await Promise.all(
      folders.map((folder) => readFile(join(home.workspace, "files", folder, file), "utf8").catch(() => "")),
    );
    return texts.join("");
  };

  return {
    ...{ driver, home, start, startToBeKilled, stop, cardIn, copyFor, settledIn, textIn, linesOf },
    async close() {
      await stop();
      await driver.close();
      await home.remove();
    },
  };
}

const pingsIn = (seen: Seen[]) => seen.flatMap(({ pings }) => pings);
const runs = (file: string) => `run echo ran >> ${file} && echo finished with network example.com`;

/** `fewKills` are the steps at which a plain run kills the process. `npm run chaos` takes all. */
export function tellNotifications(
  service: string,
  createDriver: () => Promise<NotifyDriver>,
  fewKills: readonly string[],
): void {
  describe(`notifications through ${service}`, () => {
    describe("with two approvers, one of them outside the channel", () => {
      let world: NotifyWorld;
      beforeAll(async () => {
        world = await createWorld(createDriver);
        const { driver } = world;
        await world.start({
          approvers: [driver.approver("ben"), driver.approver("cara")],
          tools: { chat_post: { approvers: [driver.role] } },
        });
      });
      afterAll(() => world.close());

      test("the one in the channel is mentioned once; the other gets the card, and an answer there counts everywhere", async () => {
        const { driver, cardIn, copyFor, linesOf, settledIn, textIn } = world;
        const asked = await driver.ask(runs("once.txt"));
        const card = await cardIn(asked);
        expect(card.pings).toEqual(["ben"]);
        const copy = await copyFor("cara", "once.txt");
        expect(copy.text).toContain("Ann needs an answer from you or Ben in #general");
        expect(await driver.click("cara", copy, "Approve")).toContain("Approved");
        await textIn(asked.thread, "finished");
        await settledIn(asked.thread, card);
        expect((await settledIn(() => driver.dm("cara"), copy)).text).toContain("Cara");
        expect(pingsIn([...asked.thread(), ...driver.dm("ben"), ...driver.dm("cara")])).toEqual(["ben"]);
        await expect.poll(() => linesOf("once.txt")).toBe("ran\n");
      });

      test("a copy answers nothing for others, and the first answer in the channel settles it", async () => {
        const { driver, cardIn, copyFor, linesOf, settledIn } = world;
        const asked = await driver.ask(runs("denied.txt"));
        const card = await cardIn(asked);
        const copy = await copyFor("cara", "denied.txt");
        expect(await driver.click("ben", card, "Deny")).toContain("Denied");
        await settledIn(() => driver.dm("cara"), copy);
        await settledIn(asked.thread, card);
        expect(await linesOf("denied.txt")).toBe("");
      });

      test("a role is mentioned and nobody else, and its member may answer", async () => {
        const { driver, cardIn, settledIn } = world;
        const asked = await driver.ask('call chat_post {"text":"The build is green."}');
        const card = await cardIn(asked);
        expect([card.pings, driver.allowed(card)]).toEqual([["ops"], ["ops"]]);
        expect(await driver.click("ann", card, "Approve")).toContain("can answer this");
        expect(await driver.click("ben", card, "Approve")).toContain("Approved");
        await driver.until(() =>
          asked.thread().find(({ id, text }) => id !== card.id && text.startsWith("The build is green.")),
        );
        await settledIn(asked.thread, card);
        expect(pingsIn(asked.thread())).toEqual(["ops"]);
      });

      test("somebody who can't get a direct message is mentioned in the thread", async () => {
        const { driver, cardIn, textIn } = world;
        driver.openDms("cara", false);
        const asked = await driver.ask(runs("closed.txt"));
        const card = await cardIn(asked);
        const line = await textIn(asked.thread, "couldn't send you a direct message");
        expect(driver.allowed(line)).toEqual(["cara"]);
        expect(line.text).toContain("closed.txt");
        expect(driver.dm("cara").filter(({ text }) => text.includes("closed.txt"))).toEqual([]);
        driver.openDms("cara", true);
        expect(await driver.click("ben", card, "Approve")).toContain("Approved");
        await textIn(asked.thread, "finished");
        expect(asked.thread().filter(({ text }) => text.includes("couldn't send you"))).toHaveLength(1);
      });

      test("if nothing can be posted in the channel, the card and the answer go to people directly, and say why", async () => {
        const { driver, copyFor, linesOf, textIn } = world;
        driver.openChannel(false);
        const asked = await driver.ask(runs("elsewhere.txt"));
        const copy = await copyFor("ben", "elsewhere.txt");
        expect(copy.text).toContain("Ann needs an answer from you or Cara in #general. I can't write there:");
        const own = await copyFor("ann", "elsewhere.txt");
        expect(await driver.click("ann", own, "Approve")).toContain("can answer this");
        expect(await driver.click("ben", copy, "Approve")).toContain("Approved");
        const answer = await textIn(() => driver.dm("ann"), "So I answer here");
        expect(answer.text).toMatch(/I can't write in #general: (Slack|Discord) doesn't let me\. So I answer here\./);
        await expect.poll(() => linesOf("elsewhere.txt")).toBe("ran\n");
        expect(asked.thread()).toEqual([]);
        const read = [...driver.dm("ann"), ...driver.dm("ben"), ...driver.dm("cara")].map(({ text }) => text).join();
        expect(read).not.toMatch(/refused_in_a_new_way|59999/);
        driver.openChannel(true);
      });

      test("an approver hands a card to another one; somebody who can't approve is refused", async () => {
        const { driver, cardIn, textIn } = world;
        const asked = await driver.ask(runs("handed.txt"));
        const card = await cardIn(asked);
        expect(await driver.handOver("ben", card, "dora")).toContain("Dora can't approve this");
        expect(await driver.handOver("ann", card, "ben")).toContain("can answer this");
        expect(await driver.handOver("ben", card, "cara")).toContain("Cara is asked to answer");
        await textIn(asked.thread, "Ben handed this to Cara");
        const copy = await textIn(() => driver.dm("cara").filter(isCard), "handed.txt");
        await textIn(() => driver.dm("cara").filter(isCard), "Ben handed this to Cara");
        expect(driver.dm("dora")).toEqual([]);
        await driver.click("cara", copy, "Approve");
        await textIn(asked.thread, "finished");
        expect(pingsIn(asked.thread())).toEqual(["ben"]);
      });
    });

    test.concurrent("a copy of a card does nothing for those who have left the channel or the workspace since", async ({
      onTestFinished,
    }) => {
      const world = await createWorld(createDriver);
      onTestFinished(world.close);
      const { copyFor, driver, home, settledIn, start } = world;
      const site = join(home.data, "..", "site");
      await mkdir(site);
      const approvers = [driver.approver("ben"), driver.approver("cara")];
      await start({ approvers, notify: "both" }, { folders: { [driver.channel]: site } });
      const change = (file: string) => driver.ask(`call shell_exec {"command":"echo new > ${file}"}`);
      await change("kept.txt");
      const copy = await copyFor("cara", "kept.txt");
      expect(await driver.click("cara", copy, "Approve")).not.toContain("can't answer");
      await vi.waitFor(async () => expect(await readdir(site)).toEqual(["kept.txt"]), 30_000);
      const settled = await settledIn(() => driver.dm("cara"), copy);
      await change("late.txt");
      const [late, bens] = [await copyFor("cara", "late.txt"), await copyFor("ben", "late.txt")];
      driver.remove("ben", "channel");
      driver.remove("cara", "workspace");
      for (const [name, on, button] of [
        ["cara", settled, "Undo"],
        ["cara", late, "Approve"],
        ["cara", late, "Deny"],
        ["ben", bens, "Approve"],
      ] as const)
        expect(await driver.click(name, on, button)).toContain("no longer where it was asked");
      expect(await readdir(site)).toEqual(["kept.txt"]);
      expect(driver.dm("ben").find(({ id }) => id === bens.id)?.buttons).toContain("Approve");
    });

    // Most of these wait for half of a time to pass, or for a start.
    test.concurrent("half-time reminds once, expiry tells who was asked, and Ask again runs the call once it is approved", async ({
      onTestFinished,
    }) => {
      const world = await createWorld(createDriver);
      onTestFinished(world.close);
      const { cardIn, copyFor, driver, linesOf, settledIn, start, textIn } = world;
      await start({ approvers: [driver.approver("ben"), driver.approver("cara")], expiryMinutes: 0.25 });
      const asked = await driver.ask(runs("again.txt"));
      const card = await cardIn(asked);
      const copy = await copyFor("cara", "again.txt");
      const reminder = await textIn(asked.thread, "till waiting for your answer");
      expect(reminder.pings).toEqual(["ben"]);
      await textIn(() => driver.dm("cara"), "Still waiting for your answer");
      const told = await textIn(asked.thread, "obody answered within");
      expect(told.text).toContain("Asked: Ben, Cara (by direct message). It did not run.");
      expect(told.pings).toEqual(["ann"]);
      const settled = await settledIn(() => driver.dm("cara"), copy);
      expect(settled.buttons).toEqual(["Ask again"]);
      const expired = await driver.until(() =>
        asked.thread().find(({ id, buttons }) => id === card.id && buttons.includes("Ask again")),
      );
      expect(await driver.click("ann", expired, "Ask again")).toContain("Asking again");
      const next = await driver.until(() => asked.thread().find((each) => isCard(each) && each.id !== card.id));
      expect(next.pings).toEqual(["ben"]);
      expect(await driver.click("ben", next, "Approve")).toContain("Approved");
      await textIn(asked.thread, "finished");
      await vi.waitFor(async () => expect(await linesOf("again.txt")).toBe("ran\n"));
      expect(pingsIn(asked.thread())).toEqual(["ben", "ben", "ann", "ben"]);
      expect(driver.dm("cara").filter(({ text }) => text.includes("till waiting"))).toHaveLength(1);
    });

    test.concurrent.for(process.env.CHAOS_SEEDS === undefined ? fewKills : allKills)(
      "kill -9 at %s pings nobody twice",
      // Half of the time passes before the kill, and the rest must be enough for a restart.
      { timeout: 180_000 },
      async (point, { onTestFinished }) => {
        const world = await createWorld(createDriver);
        onTestFinished(world.close);
        const { cardIn, copyFor, driver, settledIn, start, startToBeKilled, stop, textIn } = world;
        const isNote = point.startsWith("note");
        const safety = {
          approvers: [driver.approver("ben"), driver.approver("cara")],
          ...(isNote ? { expiryMinutes: 0.6 } : {}),
        };
        const file = `killed-${point.replace(":", "-")}.txt`;
        const killed = await startToBeKilled(safety, point);
        const asked = await driver.ask(runs(file));
        await killed.exited;
        await start(safety);
        await cardIn(asked);
        const copy = await copyFor("cara", file);
        if (isNote) await textIn(asked.thread, "till waiting for your answer");
        await driver.click("cara", copy, "Deny");
        await settledIn(() => driver.dm("cara"), copy);
        await driver.until(() => !asked.thread().some(isCard));
        await stop();
        expect(pingsIn(asked.thread())).toEqual(isNote ? ["ben", "ben"] : ["ben"]);
        // She may also have read the reminder.
        const isReminder = ({ text }: Seen) => text.includes("till waiting");
        const told = driver.dm("cara").filter(({ text }) => text.includes(file));
        expect(told.filter(isReminder).length).toBeLessThanOrEqual(1);
        expect(told.filter((message) => !isReminder(message)).length).toBeLessThanOrEqual(1);
      },
    );
  });
}
