/**
 * One story for the page, Slack and Discord: what was approved is what runs, and only those who are there approve it. It uses
 * the real agent, a scripted model and real clicks, and looks at what ran.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

export interface SeenCard {
  /** With the texts of its files. */
  text: string;
  buttons: string[];
}

export interface Request {
  /** Oldest first. */
  cards(): Promise<SeenCard[]>;
  /** The agent's messages, without cards. */
  answers(): Promise<string>;
  /** Clicks on the newest card, also if the person does not see it any more. */
  press(button: string, by?: "Ann" | "Ben"): Promise<void>;
  edit(text: string): Promise<void>;
}

export interface CallsDriver {
  conversation: string;
  /** Ben's id. Ann's calls may be answered by both. */
  ben: string;
  env: Record<string, string>;
  connect(remora: RunningRemora): Promise<void>;
  /** Starts a thread in a private channel, if there are any. */
  ask(text: string, by?: "Ann" | "Ben"): Promise<Request>;
  /** The person leaves the private channel. Absent if everybody is in every channel. */
  leave?(who: "Ann" | "Ben"): Promise<void>;
  return?(who: "Ann" | "Ben"): Promise<void>;
  close(): Promise<void>;
}

const pollMs = 30_000;
export const run = (command: string, more: object = {}) => `call shell_exec ${JSON.stringify({ command, ...more })}`;
/** The shipped rules ask because of its comment. */
const deploy = run("bash deploy.sh # git push");

/** Registers the tests. Call it inside a `describe`. */
export function tellApprovedCalls(create: () => Promise<CallsDriver>): void {
  let home: RemoraHome;
  let model: CallingModel;
  let driver: CallsDriver;
  let remora: RunningRemora;
  let site: string;

  beforeAll(async () => {
    [home, model, driver] = await Promise.all([createHome(), startCallingModel(), create()]);
    site = join(dirname(home.data), "site");
    await mkdir(site);
    const config = join(dirname(home.data), "remora.yaml");
    const safety = { changes: { given: "keep" }, approvers: ["requester", `user:${driver.ben}`] };
    await writeFile(config, JSON.stringify({ folders: { [driver.conversation]: site }, safety }));
    const models = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
    remora = await startRemora(home, { ...driver.env, ...models, REMORA_CONFIG: config });
    await driver.connect(remora);
  });
  afterAll(async () => {
    await driver.close();
    await remora.stop();
    await Promise.all([model.close(), home.remove()]);
  });
  beforeEach(async () => {
    for (const name of await readdir(site)) await rm(join(site, name), { recursive: true });
    await write("deploy.sh", "echo GOOD >> ran.txt\n");
  });

  const write = (name: string, text: string) => writeFile(join(site, name), text);
  const ran = () => readFile(join(site, "ran.txt"), "utf8").catch(() => "");
  const ranIs = (text: string) => vi.waitFor(async () => expect(await ran()).toBe(text), pollMs);

  /** Resolves to the newest of this many cards when it waits for an answer. */
  async function openCard(request: Request, count = 1): Promise<SeenCard> {
    return await vi.waitFor(async () => {
      const cards = await request.cards();
      expect(cards).toHaveLength(count);
      expect(cards.at(-1)?.buttons).toContain("Approve");
      return cards.at(-1) as SeenCard;
    }, pollMs);
  }

  const answered = (request: Request, says: RegExp) =>
    vi.waitFor(async () => expect(await request.answers()).toMatch(says), pollMs);

  test("a request that was edited while its card is open does not run the old call", async () => {
    const request = await driver.ask(deploy);
    await openCard(request);
    await request.edit(run("echo other words"));
    await vi.waitFor(async () => {
      const [card] = await request.cards();
      expect(card?.text).toContain("The request was edited");
      expect(card?.buttons).toEqual([]);
    }, pollMs);
    await answered(request, /Not run: the approval of this call was cancelled\. Reason given: The request was edited/);
    expect(await ran()).toBe("");
  });

  test("a request in which only blanks were edited keeps its card", async () => {
    const request = await driver.ask(deploy);
    await openCard(request);
    await request.edit(deploy.replace("call ", "call  "));
    await request.press("Approve");
    await ranIs("GOOD\n");
  });

  test("somebody who left the private channel can't approve its card, and somebody who is there can", async ({
    skip,
  }) => {
    if (driver.leave === undefined) skip("everybody is in every channel");
    const request = await driver.ask(deploy);
    await openCard(request);
    await driver.leave?.("Ann");
    await request.press("Approve");
    await request.press("Approve", "Ben");
    await ranIs("GOOD\n");
    await vi.waitFor(async () => expect((await request.cards())[0]?.text).toContain("Ben approved"), pollMs);
    await driver.return?.("Ann");
  });
}
