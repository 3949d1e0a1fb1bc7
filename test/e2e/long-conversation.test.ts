/** A long conversation with the real agent, with `context.compaction: model`: what the model summarises, and what never waits. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { keptShare } from "../doubles/prompt-cache.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";

const dm = { dm: true } as const;
const filler = "and some more words about nothing in particular that only fill the history ".repeat(8);
let home: RemoraHome;
let model: CallingModel;
let remora: RunningRemora;
let ann: ChatClient;
let isHanging = false;
let said = 0;

/** Keeps what it is told of the vault, and drops everything else. */
async function summarize(sent: string): Promise<string | undefined> {
  if (!isSummaryRequest(sent)) return undefined;
  if (isHanging) await new Promise(() => {});
  const kept = new Set(requestText(sent).match(/vault code is \S+/g));
  return ["Decisions:", ...[...kept].map((line) => `- the ${line}`)].join("\n");
}

beforeAll(async () => {
  [home, model] = await Promise.all([createHome(), startCallingModel(summarize)]);
  const shares = { identity: 15, prefrontal: 10, memory: 0, skills: 70, history: 5 };
  await writeFile(configPath(), stringify({ context: { compaction: "model", tokens: 24_000, shares } }));
  await begin(startRemora);
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), home.remove()]);
});

const configPath = () => join(dirname(home.data), "remora.yaml");
const isSummaryRequest = (sent: string) => sent.includes("You write the summary that replaces");
const summaryRequests = () => model.requests.filter(isSummaryRequest);
const answerRequests = () => model.requests.filter((sent) => !isSummaryRequest(sent));
const context = async () => (await ann.command("context", "", dm)).text;
const summarizedTurns = async () => Number(/a summary of (\d+) older ones/.exec(await context())?.[1]);

async function begin<R extends RunningRemora>(start: (home: RemoraHome, env: Record<string, string>) => Promise<R>) {
  const env = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: configPath() };
  const started = await start(home, env);
  ann = await createChatClient(started.url, started.token);
  remora = started;
  return started;
}

const block = z.looseObject({ text: z.string().optional() });
const request = z.looseObject({
  messages: z.array(z.looseObject({ content: z.union([z.string(), z.array(block)]) })),
});

function requestText(sent: string): string {
  return request
    .parse(JSON.parse(sent))
    .messages.flatMap(({ content }) => (typeof content === "string" ? content : content.map(({ text = "" }) => text)))
    .join("\n");
}

/** One turn whose message has a mark of its own. */
async function say(text = ""): Promise<SeenMessage> {
  said += 1;
  return await ann.answerTo(await ann.say(`mark-${said}-end ${text} ${filler}`, dm));
}

function newestPrompt(): { text: string; summary: string; rest: string } {
  const sent = answerRequests().at(-1) ?? "{}";
  const [whole = "", summary = ""] = /<earlier_summary>\n([\s\S]*?)\n<\/earlier_summary>/.exec(requestText(sent)) ?? [];
  return { text: requestText(sent), summary, rest: sent.replace(JSON.stringify(whole).slice(1, -1), "") };
}

test("a fact of the first turn reaches the thirtieth, by way of the summary alone", async () => {
  await say("The vault code is 7413-ALPHA, the plan is in reports/q3/final-plan.csv, and it costs 48,500 EUR.");
  while (said < 29) await say();
  await expect.poll(summarizedTurns).toBeGreaterThan(19);
  await say();
  const { text, summary, rest } = newestPrompt();
  expect(text).toMatch(
    /^<runtime>\nconversation: .*\n<\/runtime>\nSummary of 2\d earlier turns, written by the model on \d{4}-\d\d-\d\d; may be incomplete\./,
  );
  expect(summary).toContain("vault code is 7413-ALPHA");
  // The model's summary lost these.
  expect(summary).toContain("Also mentioned: ");
  expect(summary).toContain("reports/q3/final-plan.csv");
  expect(summary).toContain("48,500 EUR");
  expect(rest).not.toMatch(/7413-ALPHA|mark-1-end/);
  expect(text).toContain("mark-29-end");
  expect(summaryRequests().length).toBeLessThan(15);
});

test("a summary is asked for behind the whole prompt of a turn's request", () => {
  const at = model.requests.findIndex(isSummaryRequest);
  // The next turn may have begun in between.
  const shares = model.requests.slice(at - 2, at).map((before) => keptShare(before, model.requests[at] ?? ""));
  expect(shares).toContain(1);
});

test("a person sees in chat what the model sees, and summaries count as use of the conversation", async () => {
  const shown = await context();
  expect(shown).toMatch(
    /^If the last question came again here, `anthropic\/\S+` would see about [\d,]+ of at most 24,000 tokens:/,
  );
  expect(shown).toMatch(
    /- this conversation: [\d,]+ \(\d+ earlier requests? with (?:its answer|their answers), and a summary of \d+ older ones, written /,
  );
  expect(shown).toMatch(/The last request is in `brain\/prefrontal\/\.debug\/\S+\.md` in the workspace/);
  // A summary is counted shortly after it was asked for.
  const countedCalls = async () =>
    /this conversation\*\*, today: (\d+) model calls/.exec((await ann.command("usage", "", dm)).text)?.[1];
  await expect.poll(countedCalls).toBe(String(model.requests.length));
});

test("answers don't wait for a summary that hangs, and a kill during it loses no turn", async () => {
  ann.close();
  await remora.stop();
  const dying = await begin(startProcess);
  isHanging = true;
  const [before, summarized] = [summaryRequests().length, await summarizedTurns()];
  while (summaryRequests().length === before) await say();
  const marksIn = (sent: string) => sent.match(/mark-\d+-end/g) ?? [];
  const hanging = marksIn(summaryRequests().at(-1) ?? "");
  expect(hanging.length).toBeGreaterThan(0);
  expect((await say()).text).toContain("Finished");
  expect(newestPrompt().summary).toContain("7413-ALPHA");

  ann.close();
  await dying.kill();
  isHanging = false;
  // The kill may come before the turn has ended. Then the start ends it, and asks for the summary.
  const killed = summaryRequests().length;
  await begin(startRemora);
  await say();
  await expect.poll(() => summaryRequests().length).toBeGreaterThan(killed);
  expect(marksIn(summaryRequests()[killed] ?? "")).toEqual(expect.arrayContaining(hanging));
  await expect.poll(summarizedTurns).toBeGreaterThan(summarized);
  await say();
  expect(newestPrompt().summary).toContain("7413-ALPHA");
});

test("the export has the summary, and after forgetting nothing of it is left", async () => {
  expect((await ann.command("export", "", dm)).text).toMatch(/Summary of \d+ earlier turns[\s\S]*7413-ALPHA/);
  await ann.command("forget", "me yes", dm);
  await say();
  expect(answerRequests().at(-1)).not.toMatch(/earlier_summary|7413-ALPHA|final-plan/);
  expect((await ann.command("export", "", dm)).text).not.toMatch(/earlier_summary|7413-ALPHA/);
});
