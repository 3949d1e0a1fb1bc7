/**
 * One story for the page, Slack and Discord: what was approved is what runs, and only those who are there approve it. It uses
 * the real agent, a scripted model and real clicks, and looks at what ran.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type HttpTestServer, startHttpServer } from "../doubles/mcp-server-http.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createPostOffice, tellTrust } from "./trust-story.ts";

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
  /** Writes the thread's next message, as the person who asked. */
  say(text: string): Promise<void>;
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
const run = (command: string, more: object = {}) => `call shell_exec ${JSON.stringify({ command, ...more })}`;
/** The shipped rules ask because of its comment. */
const deploy = run("bash deploy.sh # git push");

/** Registers the tests. Call it inside a `describe`. */
export function tellApprovedCalls(create: () => Promise<CallsDriver>): void {
  let home: RemoraHome;
  let model: CallingModel;
  let driver: CallsDriver;
  let remora: RunningRemora;
  let site: string;
  let server: HttpTestServer;
  const office = createPostOffice();

  beforeAll(async () => {
    const started = [createHome(), startCallingModel(), create(), startHttpServer({ own: office })] as const;
    [home, model, driver, server] = await Promise.all(started);
    site = join(dirname(home.data), "site");
    await mkdir(site);
    const config = join(dirname(home.data), "remora.yaml");
    const safety = { changes: { given: "keep" }, approvers: ["requester", `user:${driver.ben}`] };
    const skills = { settings: { mcp: { servers: { hub: { url: server.url, trust: office.trusted } } } } };
    await writeFile(config, JSON.stringify({ folders: { [driver.conversation]: site }, safety, skills }));
    const models = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
    remora = await startRemora(home, { ...driver.env, ...models, REMORA_CONFIG: config });
    await driver.connect(remora);
  });
  afterAll(async () => {
    await driver.close();
    await remora.stop();
    await Promise.all([model.close(), server.close(), home.remove()]);
  });
  beforeEach(async () => {
    for (const name of await readdir(site)) await rm(join(site, name), { recursive: true });
    await write("deploy.sh", "echo GOOD >> ran.txt\n");
  });

  const write = (name: string, text: string) => writeFile(join(site, name), text);
  const ran = () => readFile(join(site, "ran.txt"), "utf8").catch(() => "");
  const ranIs = (text: string) => vi.waitFor(async () => expect(await ran()).toBe(text), pollMs);

  const scriptIs = (text: RegExp) =>
    vi.waitFor(async () => expect(await readFile(join(site, "deploy.sh"), "utf8")).toMatch(text), pollMs);

  /** The text of a file in the open drafts. */
  async function changedInDrafts(name: string): Promise<string> {
    const drafts = join(home.workspace, "drafts/open");
    const paths = (await readdir(drafts, { recursive: true })).filter((path) => path.endsWith(`/layer/${name}`));
    return (await Promise.all(paths.map((path) => readFile(join(drafts, path), "utf8").catch(() => "")))).join("");
  }

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

  tellTrust(() => ({ driver, model, office, openCard, answered }));

  test("a script that changes while its card is open asks again with the difference, and runs only as it was shown", async () => {
    const request = await driver.ask(deploy);
    expect((await openCard(request)).text).toContain("Runs with deploy.sh as it is now.");
    await write("deploy.sh", "echo EVIL >> ran.txt\n");
    await request.press("Approve");
    const { text } = await openCard(request, 2);
    for (const shown of ["-echo GOOD >> ran.txt", "+echo EVIL >> ran.txt"]) expect(text).toContain(shown);
    expect((await request.cards())[0]?.text).toContain("Changed after this card was shown: deploy.sh.");
    expect(await ran()).toBe("");
    await request.press("Approve");
    await ranIs("EVIL\n");
  });

  test("a background job of the same thread can't swap the script of an approved call with network access", async () => {
    const job = run('sleep 2; echo "echo EVIL >> ran.txt" > deploy.sh', { background: true });
    const request = await driver.ask(`${job} then ${run("bash deploy.sh", { network: ["example.com"] })}`);
    await openCard(request);
    await vi.waitFor(async () => expect(await changedInDrafts("deploy.sh")).toContain("EVIL"), pollMs);
    await request.press("Approve");
    expect((await openCard(request, 2)).text).toContain("+echo EVIL");
    await request.press("Deny");
    await answered(request, /denied by Ann/);
    expect(await ran()).toBe("");
    // The job's own change is kept at the end of the turn.
    await scriptIs(/EVIL/);
  });

  test("another person's turn can't swap the script of a call that waits", async () => {
    const request = await driver.ask(deploy);
    await openCard(request);
    const other = await driver.ask(run('echo "echo EVIL >> ran.txt" | tee deploy.sh'), "Ben");
    await answered(other, /Finished/);
    await scriptIs(/EVIL/);
    await request.press("Approve");
    expect((await openCard(request, 2)).text).toContain("+echo EVIL");
    expect(await ran()).toBe("");
    await request.press("Deny");
    await answered(request, /denied by Ann/);
  });

  test("a file that the call does not open may change while its card is open", async () => {
    const request = await driver.ask(deploy);
    await openCard(request);
    await write("notes.txt", "new\n");
    await request.press("Approve");
    await ranIs("GOOD\n");
    await vi.waitFor(async () => expect((await request.cards())[0]?.text).toContain("Ann approved"), pollMs);
  });

  test("a call whose script keeps changing ends without running", async () => {
    const request = await driver.ask(deploy);
    for (let count = 1; count <= 3; count += 1) {
      await openCard(request, count);
      await write("deploy.sh", `echo EVIL ${count} >> ran.txt\n`);
      await request.press("Approve");
    }
    await answered(request, /keep changing while people are asked: deploy\.sh/);
    expect(await ran()).toBe("");
  });

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
