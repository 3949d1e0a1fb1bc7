/** A file that somebody swaps for a link, again and again, while tools read and share it: nothing outside ever comes along. */
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { filesWith } from "./oracle/canaries.ts";

const canary = "canary-of-another-conversation";
const callsPerStep = 32;
const stepsPerTurn = 6;
const turns = 6;

let home: RemoraHome;
let model: CallingModel;
let remora: RemoraProcess;
let ann: ChatClient;
let swapper: Worker;
beforeAll(async () => {
  [home, model] = await Promise.all([createHome(), startCallingModel()]);
  remora = await startRemora(home, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url });
  ann = await createChatClient(remora.url, remora.token);
});
afterAll(async () => {
  await swapper?.terminate();
  ann?.close();
  await remora?.kill();
  await model?.close();
  await home?.remove();
});

test("of more than a thousand reads and uploads none follows the link", { timeout: 240_000 }, async () => {
  const [own, others] = ["channel:general", "dm:ben"].map((name) => join(home.workspace, "files", name)) as [
    string,
    string,
  ];
  for (const folder of [join(own, "d"), others]) await mkdir(folder, { recursive: true });
  await writeFile(join(own, "d/report.txt"), "the report\n");
  await writeFile(join(others, "report.txt"), `${canary}\n`);
  swapper = await startSwapping(own, others);
  const uses = [
    `call read_file {"path":"d/report.txt"} ${callsPerStep} times`,
    `call chat_upload {"path":"d/report.txt"} ${callsPerStep} times`,
  ];
  const request = Array.from({ length: stepsPerTurn }, (_, step) => uses[step % uses.length]).join(" then ");
  for (let turn = 0; turn < turns; turn += 1)
    await ann.answerTo(await ann.say(`@remora ${request}`, { channel: "general" }));
  const results = model.requests.join();
  expect(results.split("the report").length).toBeGreaterThan(turns * callsPerStep);
  expect(results).not.toContain(canary);
  const known = join(others, "report.txt");
  for (const folder of [home.workspace, home.data])
    expect(filesWith(canary, folder, (path) => path === known)).toEqual([]);
  expect(await readFile(known, "utf8")).toBe(`${canary}\n`);
});

/** The folder `d` is a folder, a link to the other conversation's folder, nothing, and a folder again, without a pause. */
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
