/** Budgets in dollars in the real application, with a model whose calls have a price. */
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type App, createApp } from "../../src/app/app.ts";
import { loadSettings } from "../../src/config/load.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome } from "../doubles/remora-process.ts";

const project = resolve(import.meta.dirname, "../..");
const token = "a-token-for-this-test";
const dm = { dm: true } as const;
let home: RemoraHome;
let app: App;
let ann: ChatClient;
let ben: ChatClient;
let asked: number;

/** Each call costs a dollar. A request that says `twice` needs two calls. */
const provider: Provider = {
  name: "anthropic",
  model: "anthropic/usual",
  async *stream(request) {
    asked += 1;
    const usage = { inputTokens: 0, outputTokens: 100_000, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const end = { type: "end", usage, model: "anthropic/usual" } as const;
    const newest = request.messages.at(-1);
    const isAsked = newest?.role === "user" && JSON.stringify(newest.content).includes("twice");
    if (isAsked && request.mayCall !== false) {
      yield { type: "text-delta", text: "Let me look." };
      yield { type: "tool-call", id: `call-${asked}`, name: "schedule_list", inputJson: "{}" };
      yield { ...end, stop: "tool-calls" };
    } else {
      yield { type: "text-delta", text: request.mayCall === false ? "Without tools." : "Done." };
      yield { ...end, stop: "end" };
    }
  },
};

async function start(dollars: string): Promise<void> {
  const file = join(home.workspace, "remora.yaml");
  const yaml = [
    "models: { maxOutputTokens: 100000, prices: { 'anthropic/*': { input: 0, output: 10 } } }",
    `limits: { dollars: ${dollars} }`,
    "safety: { owners: ['user:local:ben'] }",
  ];
  await writeFile(file, yaml.join("\n"));
  const env = {
    REMORA_CONFIG: file,
    REMORA_WORKSPACE: home.workspace,
    REMORA_DATA: home.data,
    REMORA_PORT: "0",
    REMORA_ENV_FILE: "/dev/null",
  };
  const loaded = loadSettings(env, project);
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  app = await createApp({
    ...{ settings: loaded.settings, role: "all", signal: new AbortController().signal, token, log: silentLog },
    ...{ redact: (text: string) => text, providers: [provider] },
  });
  await app.start();
  const url = app.report().url ?? "";
  [ann, ben] = await Promise.all([createChatClient(url, token), createChatClient(url, token, "ben")]);
}

beforeEach(async () => {
  asked = 0;
  home = await createHome();
});
afterEach(async () => {
  ann.close();
  ben.close();
  await app.close();
  await home.remove();
});

const cardOf = (client: ChatClient, words: string) =>
  client.waitFor((message) => message.type === "card" && JSON.stringify(message.card).includes(words));
const answered = (client: ChatClient, said: SeenMessage, text: string) =>
  client.waitFor(
    ({ author, sequence, state, ...message }) =>
      author.isBot && sequence > said.sequence && state !== "streaming" && message.text.includes(text),
  );

test("at 80 % a card appears, the request goes on, an owner continues, and others can't", async () => {
  await start("{ channel: 1.1 }");
  const said = await ann.say("@remora hello");
  expect((await answered(ann, said, "Done.")).state).toBe("done");
  const card = await cardOf(ann, "This channel has used $1.00 of $1.10 today. Continue, +$2.00?");
  expect(card.card?.items[0]?.labels).toEqual({ approve: "Continue, +$2.00", deny: "Stop at $1.10" });
  expect(await ann.click(card, "approve")).toMatchObject({ accepted: false });
  const clicks = await Promise.all([ben.click(card, "approve"), ben.click(card, "approve")]);
  expect(clicks.map(({ accepted }) => accepted).sort()).toEqual([false, true]);
  expect(clicks.find(({ accepted }) => accepted)?.text).toBe("Added $2.00. The budget is now $3.10.");
  for (const text of ["two", "three"]) await answered(ann, await ann.say(`@remora ${text}`), "Done.");
});

test("at 100 % the request waits, and goes on after Continue", async () => {
  await start("{ user: 1 }");
  const said = await ann.say("twice please", dm);
  await cardOf(ann, "Ann has used $1.00 of $1.00 today");
  expect(asked).toBe(1);
  // Ben can't read the direct messages, so he gets a copy.
  const copy = await cardOf(ben, "Ann has used $1.00 of $1.00 today");
  expect(await ben.click(copy, "approve")).toMatchObject({ accepted: true });
  await answered(ann, said, "Done.");
  expect(asked).toBe(2);
});

test("at 100 % a no ends the request with what was done, without another model call", async () => {
  await start("{ user: 1 }");
  const said = await ann.say("twice please", dm);
  const copy = await cardOf(ben, "Ann has used $1.00 of $1.00 today");
  expect(await ben.click(copy, "deny")).toMatchObject({ text: "Noted. The budget stays at $1.00." });
  const end = await answered(ann, said, "Ben decided not to add to it.");
  expect(end.text).toContain("The budget of Ann for today is used up: $1.00 of $1.00. It resets at 00:00 UTC");
  expect(end.text).toContain("Before that I had called: `schedule_list` (ok). The rest of your request is not done.");
  expect(asked).toBe(1);
});

test("after a no at 80 %, a request gets one answer without tools from what is left", async () => {
  await start("{ channel: 1.2 }");
  await answered(ann, await ann.say("@remora hello"), "Done.");
  await ben.click(await cardOf(ben, "$1.00 of $1.20"), "deny");
  await answered(ann, await ann.say("@remora twice please"), "Without tools.");
  expect(asked).toBe(2);
});

test("a request's own budget asks while it goes on, and its card closes when the request ends", async () => {
  await start("{ turn: 1.2 }");
  const said = await ann.say("@remora twice please");
  const card = await cardOf(ann, "This request has used $1.00 of $1.20. Continue, +$2.00?");
  await answered(ann, said, "Done.");
  const closed = await ann.waitFor(({ id, state }) => id === card.id && state !== "waiting");
  expect(closed.card?.items[0]?.choices).toEqual([]);
  expect((await ben.click(card, "approve")).accepted).toBe(false);
});
