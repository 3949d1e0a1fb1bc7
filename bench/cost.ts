/**
 * What conversations cost, with the prompt caches of the services simulated by their public rules (test/doubles/prompt-cache.ts),
 * beside a bare bot that only appends: the same system text and tools, the person's words, the model's answers and the
 * results of its calls, and nothing that is ever rewritten. The agent runs in this process, the model is scripted behind the real
 * APIs, and a minute or two passes between two turns, on the clock of both.
 *
 *   ratio         dollars of all prompts and answers, by the shipped prices, as a multiple of the bare bot's
 *   promptRatio   of prompts only, because the answers are the same
 *   readShare     share of the prompts' tokens that came from the cache
 *   writtenTokens written to the cache
 *
 * Prints one JSON line. `node bench/cost.ts [story …]` plays only the stories whose names begin so.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { estimateTokens } from "../src/context/tokens.ts";
import { shippedPrices } from "../src/usage/price-table.ts";
import { type ModelDouble, startModelDouble } from "../test/doubles/model.ts";
import {
  type Block,
  block,
  blocksOf,
  type CacheKind,
  createPromptCache,
  dollarsFor,
} from "../test/doubles/prompt-cache.ts";
import { createHome, startRemora } from "../test/doubles/remora-in-process.ts";
import { type Chat, openChat, type PlatformName } from "./cost-chats.ts";
import { notes, oneLiners, story, type Turn, withTools } from "./cost-stories.ts";

interface Model {
  name: string;
  cache: CacheKind;
}

interface Played {
  platform: PlatformName;
  turns: Turn[];
  model?: Model;
  hasNotes?: boolean;
}

const sonnet = { name: "anthropic/claude-sonnet-5-5", cache: "anthropic" } as const;
const gpt55 = { name: "openai/gpt-5.5", cache: "prefix" } as const;
const gpt56 = { name: "openai/gpt-5.6", cache: "breakpoints" } as const;

const stories: Record<string, Played> = {
  storyPage: { platform: "page", turns: story() },
  storySlack: { platform: "slack", turns: story() },
  storyDiscord: { platform: "discord", turns: story() },
  storyGpt55: { platform: "page", turns: story(), model: gpt55 },
  storyGpt56: { platform: "page", turns: story(), model: gpt56 },
  sixty: { platform: "page", turns: oneLiners(60) },
  sixtySlow: { platform: "page", turns: oneLiners(60, { minutes: 10 }) },
  sixtyNotes: { platform: "page", turns: oneLiners(60), hasNotes: true },
  sixtyTools: { platform: "page", turns: withTools(oneLiners(60)) },
  sixtyGpt55: { platform: "page", turns: oneLiners(60), model: gpt55 },
  sixtyGpt56: { platform: "page", turns: oneLiners(60), model: gpt56 },
  twoHundred: { platform: "page", turns: oneLiners(200) },
};

/** The agent must take the double for the services themselves, because it sends other servers less. */
function leadTo(double: ModelDouble): () => void {
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) =>
    fetch(
      typeof input === "string" ? input.replace(/^https:\/\/api\.(?:anthropic|openai)\.com/, double.url) : input,
      init,
    );
  return () => {
    globalThis.fetch = fetch;
  };
}

/** The agent's clock goes on by the pauses of the story. */
function createPauses() {
  const { now } = Date;
  let aheadMs = 0;
  Date.now = () => now() + aheadMs;
  return {
    pass: (minutes: number) => {
      aheadMs += minutes * 60_000;
    },
    end: () => {
      Date.now = now;
    },
  };
}

interface Asked {
  turn: number;
  at: number;
  output: string;
}

async function play({ platform, turns, model = sonnet, hasNotes = false }: Played) {
  const [home, double] = [await createHome(), await startModelDouble()];
  const [restore, pauses] = [leadTo(double), createPauses()];
  const [provider = "", name] = model.name.split("/");
  const config = join(dirname(home.data), "remora.yaml");
  writeFileSync(config, JSON.stringify({ models: { order: [provider], [provider]: { model: name } } }));
  mkdirSync(join(home.workspace, "knowledge"), { recursive: true });
  if (hasNotes) writeFileSync(join(home.workspace, "knowledge/notes.md"), notes(200));
  const asked: Asked[] = [];
  let [turn, step] = [0, 0];
  double.mock.on({ predicate: () => true }, () => {
    const { calls = [], answer = "Nothing was planned." } = turns[turn] ?? {};
    const [, name, input = answer] = /^(\w+) (.*)$/s.exec(calls[step] ?? "") ?? [];
    step += 1;
    asked.push({ turn, at: Date.now(), output: input });
    return name === undefined ? { content: answer } : { toolCalls: [{ name, arguments: input }] };
  });
  const chat: Chat = await openChat(platform, (env) =>
    startRemora(home, { ANTHROPIC_API_KEY: "bench-key", OPENAI_API_KEY: "bench-key", REMORA_CONFIG: config, ...env }),
  );
  for (const [index, said] of turns.entries()) {
    [turn, step] = [index, 0];
    pauses.pass(said.minutes);
    await chat.say(said);
    const wanted = said.calls.length + 1;
    if (step !== wanted) throw new Error(`turn ${index + 1} asked ${step} times instead of ${wanted}`);
  }
  await chat.close();
  pauses.end();
  restore();
  const sent = double.requests.map(({ body }) => blocksOf(JSON.stringify(body)));
  await double.stop();
  await home.remove();
  return figuresOf(turns, asked, sent, model);
}

interface Priced {
  turn: number;
  dollars: number;
  promptDollars: number;
  tokens: number;
  read: number;
  written: number;
}

function priced(asked: readonly Asked[], sent: readonly (readonly Block[])[], model: Model) {
  const cache = createPromptCache(model.cache);
  const price = shippedPrices[model.name];
  if (price === undefined) throw new Error(`${model.name} has no price`);
  return asked.map(({ turn, at, output }, index): Priced => {
    const use = cache.send(sent[index] ?? [], at);
    const promptDollars = dollarsFor(use, price);
    return { turn, ...use, promptDollars, dollars: promptDollars + (estimateTokens(output) * price.output) / 1e6 };
  });
}

function figuresOf(turns: readonly Turn[], asked: readonly Asked[], sent: readonly Block[][], model: Model) {
  const ours = priced(asked, sent, model);
  const bare = priced(asked, barePrompts(turns, asked, sent), model);
  const sum = (all: readonly Priced[], key: Exclude<keyof Priced, "turn">) =>
    all.reduce((total, one) => total + one[key], 0);
  const share = (all: readonly Priced[]) => Number((sum(all, "read") / sum(all, "tokens")).toFixed(3));
  const cents = (number: number) =>
    turns.length < number || turns.some(({ calls }) => calls.length > 0)
      ? []
      : [
          [
            `cents${number}`,
            Number(
              (
                sum(
                  ours.filter(({ turn }) => turn === number - 1),
                  "dollars",
                ) * 100
              ).toFixed(3),
            ),
          ],
        ];
  return {
    requests: asked.length,
    dollars: Number(sum(ours, "dollars").toPrecision(3)),
    bareDollars: Number(sum(bare, "dollars").toPrecision(3)),
    ratio: Number((sum(ours, "dollars") / sum(bare, "dollars")).toFixed(2)),
    promptRatio: Number((sum(ours, "promptDollars") / sum(bare, "promptDollars")).toFixed(2)),
    promptTokens: { ours: sum(ours, "tokens"), bare: sum(bare, "tokens") },
    readShare: { ours: share(ours), bare: share(bare) },
    writtenTokens: { ours: sum(ours, "written"), bare: sum(bare, "written") },
    ...Object.fromEntries([...cents(12), ...cents(100)]),
  };
}

/** One breakpoint at the end of the system text, and one at the end of the messages. */
function barePrompts(turns: readonly Turn[], asked: readonly Asked[], sent: readonly Block[][]): Block[][] {
  const isSaid = ({ text }: Block) => /"role":"user"|"type":"function_call/.test(text);
  const first = sent[0] ?? [];
  const stable = first.slice(0, first.findIndex(isSaid)).map((one) => ({ ...one, mark: undefined }));
  const marked = (blocks: Block[]) => blocks.with(-1, { ...blocks.at(-1), mark: "5m", isEnd: true } as Block);
  const said = new Map<string, Block[]>();
  return asked.map(({ turn, output }, index) => {
    const { place = "", text = "", files = [] } = turns[turn] ?? {};
    const before = said.get(place) ?? [];
    const isFirst = asked[index - 1]?.turn !== turn;
    const words = [text, ...files.map(({ content }) => content)].join("\n\n");
    const news = isFirst ? [block({ role: "user", type: "text", text: words }, true)] : callIn(sent[index] ?? []);
    const messages = [...before, ...news];
    const isLast = asked[index + 1]?.turn !== turn;
    said.set(place, isLast ? [...messages, block({ role: "assistant", type: "text", text: output })] : messages);
    return [...marked(stable), ...marked(messages)];
  });
}

/** The newest call of our prompt, and its result. */
function callIn(blocks: readonly Block[]): Block[] {
  const newest = (pattern: RegExp) => blocks.findLast(({ text }) => pattern.test(text));
  const [call, result] = [
    newest(/"type":"(?:tool_use|function_call)"/),
    newest(/"type":"(?:tool_result|function_call_output)"/),
  ];
  return [call, result].flatMap((one) => (one === undefined ? [] : [{ ...one, mark: undefined }]));
}

const wanted = process.argv.slice(2);
const figures: Record<string, unknown> = {};
for (const [name, played] of Object.entries(stories)) {
  if (wanted.length > 0 && !wanted.some((start) => name.startsWith(start))) continue;
  figures[name] = await play(played);
  process.stderr.write(`${name} ${JSON.stringify(figures[name])}\n`);
}
process.stdout.write(`${JSON.stringify({ bench: "cost", ...figures })}\n`);
