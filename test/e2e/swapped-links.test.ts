/** Somebody keeps swapping a file for a link while tools read and upload it. Nothing from outside may be included. */
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble } from "../doubles/slack/double.ts";
import { filesWith } from "./oracle/canaries.ts";

const canary = "canary-of-another-conversation";
const callsPerStep = 32;
const stepsPerTurn = 6;

let home: RemoraHome;
let model: CallingModel;
let remora: RunningRemora;
let swapper: Worker;
beforeEach(async () => {
  [home, model] = await Promise.all([createHome(), startCallingModel()]);
});
afterEach(async () => {
  await swapper?.terminate();
  await remora?.stop();
  await model?.close();
  await home?.remove();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  remora = await startRemora(home, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, ...env });
}

/** Creates a report in the channel's working folder; its folder is swapped from now on. */
async function swapIn(channel: string): Promise<void> {
  const [own, others] = [channel, "dm:ben"].map((name) => join(home.workspace, "files", name)) as [string, string];
  for (const folder of [join(own, "d"), others]) await mkdir(folder, { recursive: true });
  await writeFile(join(own, "d/report.txt"), "the report\n");
  await writeFile(join(others, "report.txt"), `${canary}\n`);
  swapper = await startSwapping(own, others);
}

function request(steps: number): string {
  const uses = [
    `call read_file {"path":"d/report.txt"} ${callsPerStep} times`,
    `call chat_upload {"path":"d/report.txt"} ${callsPerStep} times`,
  ];
  return Array.from({ length: steps }, (_, step) => uses[step % uses.length]).join(" then ");
}

async function expectNothingTaken(): Promise<void> {
  // The search below would follow a link that takes the place of a folder in the middle of it.
  await swapper.terminate();
  expect(model.requests.join()).not.toContain(canary);
  const known = join(home.workspace, "files/dm:ben/report.txt");
  for (const folder of [home.workspace, home.data])
    expect(filesWith(canary, folder, (path) => path === known)).toEqual([]);
  expect(await readFile(known, "utf8")).toBe(`${canary}\n`);
}

test("none of two hundred reads and uploads on the page follows a swapped link", async () => {
  await start();
  const ann = await createChatClient(remora.url, remora.token);
  await swapIn("channel:general");
  await ann.answerTo(await ann.say(`@remora ${request(stepsPerTurn)}`, { channel: "general" }));
  ann.close();
  expect(model.requests.join().split("the report").length).toBeGreaterThan(callsPerStep);
  await expectNothingTaken();
});

test("no upload to Slack contains a file from outside", async () => {
  const slack = await createSlackDouble();
  onTestFinished(() => slack.stop());
  await start({ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl });
  await swapIn(`channel:${slack.general.id}`);
  const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${request(2)}` });
  const here = () => slack.see({ in: slack.general, thread: said.ts }).filter(({ isAgents }) => isAgents);
  await slack.until(
    () => here().some(({ readable, streaming }) => /Finished/.test(readable) && streaming !== "in_progress"),
    60_000,
  );
  const shared = () => here().flatMap(({ files }) => files.map(({ content }) => content));
  await slack.until(() => shared().length > 0, 30_000);
  expect(new Set(shared())).toEqual(new Set(["the report\n"]));
  await expectNothingTaken();
});

/** Swaps `d` in a loop: a folder, a link to another conversation's folder, nothing, a folder again. */
async function startSwapping(own: string, others: string): Promise<Worker> {
  const worker = new Worker(
    `const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
     const { workerData: { own, others } } = require("node:worker_threads");
     const sleep = new Int32Array(new SharedArrayBuffer(4));
     for (;;) {
       renameSync(own + "/d", own + "/aside");
       symlinkSync(others, own + "/d");
       Atomics.wait(sleep, 0, 0, Math.random() * 4);
       unlinkSync(own + "/d");
       renameSync(own + "/aside", own + "/d");
       Atomics.wait(sleep, 0, 0, Math.random() * 4);
     }`,
    { eval: true, workerData: { own, others } },
  );
  await once(worker, "online");
  return worker;
}
