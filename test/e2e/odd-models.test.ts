/**
 * Models with bad habits, as small local ones have them, on the real agent: each turn ends, after few requests, with words that
 * say what happened.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { type Habit, type OddModel, startOddModel } from "../doubles/odd-model.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

const patience = { timeout: 120_000 };
const loading = { message: "Loading model", type: "unavailable_error", code: 503 };
const jsonCall = '{"name": "search_internet", "arguments": {"query": "weather in Bern"}}';

const habits = {
  "same call": (answer) => {
    answer.call("list_folder", { path: "." });
    answer.end();
  },
  "unknown tools": (answer, { round }) => {
    answer.call(`search_internet_${round}`, { query: "weather" });
    answer.end();
  },
  "twenty unknown tools": (answer, { mayCall }) => {
    if (!mayCall) answer.say("I can't search.");
    else for (let index = 0; index < 20; index += 1) answer.call(`search_internet_${index}`, { query: "weather" });
    answer.end();
  },
  "same sentence": async (answer) => {
    answer.say("Of course, Ann.\n\n");
    await answer.forever(() => answer.say("I will look into the folder now. "));
  },
  "same thought": (answer) => answer.forever(() => answer.think("Wait, let me check again. ")),
  "never ends": (answer) => answer.forever((count) => answer.say(`${count} is a number. `)),
  "written call": (answer, { results }) => {
    answer.say(results.length === 0 ? jsonCall : "I can't search the internet.");
    answer.end();
  },
  "written calls only": (answer) => {
    answer.say(jsonCall);
    answer.end();
  },
  "announces a call": (answer, { results, isReminded }) => {
    if (results.length > 0) answer.say("The folder is empty.");
    else if (isReminded) answer.call("list_folder", { path: "." });
    else answer.say("To answer this, I need to look at the folder. I will use the `list_folder` function.");
    answer.end();
  },
  "breaks in text": async (answer) => {
    answer.say("The first half of");
    await answer.breakOff();
  },
  "breaks in a call": async (answer) => {
    answer.call("list_folder", '{"path');
    await answer.breakOff();
  },
  "breaks in a thought": async (answer) => {
    answer.think("Well");
    await answer.breakOff();
  },
  "breaks after a call": async (answer, { results }) => {
    if (results.length > 0) return await answer.breakOff();
    answer.say("I look into the folder.");
    answer.call("list_folder", { path: "." });
    answer.end();
  },
  "starts again": async (answer, { round }) => {
    if (round === 2) return answer.refuse(503, loading);
    answer.say(round === 1 ? "The first half of" : "The whole of it.");
    if (round === 1) return await answer.breakOff();
    answer.end();
  },
  "words then nothing": (answer, { results }) => {
    if (results.length === 0) {
      answer.say("The folder is yours.");
      answer.call("list_folder", { path: "." });
    }
    answer.end();
  },
  "refuses tools once": (answer, { round }) => {
    if (round === 1) return answer.refuse(400, { message: "Invalid schema for one of the tools", code: 400 });
    answer.say("Here I am again.");
    answer.end();
  },
  "says nothing": (answer) => {
    answer.say(" \n\n ");
    answer.end();
  },
  "says a full stop": (answer) => {
    answer.say("…\n.");
    answer.end();
  },
  "only thinks": (answer) => {
    answer.think("Well.");
    answer.end();
  },
} satisfies Record<string, Habit>;

let home: RemoraHome;
let model: OddModel;
let remora: RunningRemora;
let ann: ChatClient;

beforeAll(async () => {
  [home, model] = await Promise.all([createHome(), startOddModel(habits)]);
  const config = join(home.workspace, "remora.yaml");
  const models = "{ order: [openai], maxOutputTokens: 1000, openai: { api: chat, model: m } }";
  await writeFile(config, `models: ${models}\nhealth: { modelCall: false }\n`);
  remora = await startRemora(home, { REMORA_CONFIG: config, OPENAI_API_KEY: "k", OPENAI_BASE_URL: model.url });
  ann = await createChatClient(remora.url, remora.token);
}, 120_000);
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), home.remove()]);
});

const broke = "⚠️ The model could not answer: its answer broke off. Please try again.";
const empty = "⚠️ The model could not answer: its answer was empty. Please try again, or ask in other words.";
const vain = "My last steps brought nothing new";
const todo = "If something is missing, ask in other words, or for less at once.";

test.each<[keyof typeof habits, number, string, string | undefined]>([
  // The last time without tools. Later last steps have none from the start.
  ["same call", 5, `⚠️ ${vain}, and the model ended without an answer. ${todo}`, "2 actions"],
  ["unknown tools", 4, `⚠️ ${vain}, and the model ended without an answer. ${todo}`, "no actions"],
  ["twenty unknown tools", 4, `I can't search.\n\n*(${vain}, so I answered with what I had. ${todo})*`, "no actions"],
  [
    "same sentence",
    1,
    "Of course, Ann.\n\nI will look into the folder now.\n\n*(The model began to repeat itself without end, so I stopped it here.)*",
    undefined,
  ],
  [
    "same thought",
    1,
    "⚠️ The model could not answer: its answer did not end, so I stopped it. Please ask in other words, or for less at once.",
    undefined,
  ],
  ["written call", 2, "I can't search the internet.", "no actions"],
  ["written calls only", 4, `⚠️ ${vain}, and the model ended without an answer. ${todo}`, "no actions"],
  ["announces a call", 3, "The folder is empty.", "1 action"],
  ["breaks in text", 2, `The first half of\n\n${broke}`, undefined],
  ["breaks in a call", 4, broke, undefined],
  ["breaks in a thought", 4, broke, undefined],
  ["breaks after a call", 5, `I look into the folder.\n\n${broke}`, "1 action"],
  ["words then nothing", 3, "The folder is yours.", "1 action"],
  ["refuses tools once", 2, "Here I am again.", undefined],
  ["says nothing", 2, empty, undefined],
  ["says a full stop", 2, empty, undefined],
  ["only thinks", 2, empty, undefined],
])(
  "a model with the habit “%s” is asked %i times, and people read what happened",
  patience,
  async (habit, requests, text, actions) => {
    const answer = await ann.answerTo(await ann.say(`Please help me. habit: ${habit}.`, { dm: true }));
    expect([answer.text, model.requests(habit)]).toEqual([text, requests]);
    expect(/(?:no|\d+) actions?/.exec(JSON.stringify(answer.footer ?? {}))?.[0]).toBe(actions);
  },
);

test("an answer without end stops near the limit that was asked for, and says so", patience, async () => {
  const { text } = await ann.answerTo(await ann.say("Please help me. habit: never ends.", { dm: true }));
  expect(text).toMatch(/^1 is a number\. [\s\S]*\n\n\*\(The answer was cut at the model's output limit\.\)\*$/);
  expect(text.length).toBeLessThan(13_000);
  await expect.poll(model.left).toBe(3);
});

test("who asked for JSON gets it, and the next message after a break is answered", patience, async () => {
  const { text } = await ann.answerTo(
    await ann.say("Show me such a call as JSON. habit: written calls only.", { dm: true }),
  );
  expect(text).toBe(jsonCall);
  const broken = await ann.answerTo(await ann.say("Please help me. habit: starts again.", { dm: true }));
  // The server loads the model anew, and is asked until it has.
  expect(broken.text).toBe("The whole of it.");
  expect((await ann.answerTo(await ann.say("And now?", { dm: true }))).text).toBe("Here I am.");
});
