/** The figures of bench/cost.ts: prices of the prompts that were sent, and of a bare bot's for the same conversation. */
import { estimateTokens } from "../src/context/tokens.ts";
import { shippedPrices } from "../src/usage/price-table.ts";
import { type Block, block, type CacheKind, createPromptCache, dollarsFor } from "../test/doubles/prompt-cache.ts";
import type { Turn } from "./cost-stories.ts";
import { median } from "./statistics.ts";

export interface Model {
  name: string;
  cache: CacheKind;
}

/** A request, and what the model put out. */
export interface Asked {
  turn: number;
  at: number;
  output: string;
}

interface Total {
  dollars: number;
  promptDollars: number;
  tokens: number;
  read: number;
  written: number;
}

function priced(asked: readonly Asked[], sent: readonly (readonly Block[])[], model: Model): Total[] {
  const cache = createPromptCache(model.cache);
  const price = shippedPrices[model.name];
  if (price === undefined) throw new Error(`${model.name} has no price`);
  return asked.map(({ at, output }, index) => {
    const use = cache.send(sent[index] ?? [], at);
    const promptDollars = dollarsFor(use, price);
    return { ...use, promptDollars, dollars: promptDollars + (estimateTokens(output) * price.output) / 1e6 };
  });
}

function totalOf(all: readonly Total[]): Total {
  const sum = (key: keyof Total) => all.reduce((total, one) => total + one[key], 0);
  const [dollars, promptDollars] = [sum("dollars"), sum("promptDollars")];
  return { dollars, promptDollars, tokens: sum("tokens"), read: sum("read"), written: sum("written") };
}

export function figuresOf(turns: readonly Turn[], { asked, sent }: { asked: Asked[]; sent: Block[][] }, model: Model) {
  const [each, bares] = [priced(asked, sent, model), priced(asked, barePrompts(turns, asked, sent), model)];
  const [ours, bare] = [totalOf(each), totalOf(bares)];
  const both = (value: (total: Total) => number) => ({ ours: value(ours), bare: value(bare) });
  const ofTurn = (all: readonly Total[], turn: number) => all.filter((_, at) => asked[at]?.turn === turn);
  const centsIn = (all: readonly Total[]) => turns.map((_, turn) => totalOf(ofTurn(all, turn)).dollars * 100);
  const cents = centsIn(each);
  return {
    requests: asked.length,
    ratio: rounded(ours.dollars / bare.dollars),
    promptRatio: rounded(ours.promptDollars / bare.promptDollars),
    dollars: both(({ dollars }) => rounded(dollars)),
    promptTokens: both(({ tokens }) => tokens),
    readShare: both(({ read, tokens }) => rounded(read / tokens)),
    writtenTokens: both(({ written }) => written),
    ...(turns.some(({ calls }) => calls.length > 0)
      ? {}
      : { centsOfLine: { ours: ofLines(cents), bare: ofLines(centsIn(bares)) } }),
    ...cutsIn(turns, each, asked, cents),
  };
}

/** A single line can be the one that pays for a cut, so the hundredth stands beside those around it. */
function ofLines(cents: readonly number[]) {
  const around = cents.slice(89, 110);
  const shown = [12, 100].filter((number) => number <= cents.length);
  return {
    ...Object.fromEntries(shown.map((number) => [number, rounded(cents[number - 1] ?? 0)])),
    ...(around.length < 21 ? {} : { around100: { median: rounded(median(around)), mean: rounded(mean(around)) } }),
  };
}

/** Of what the request before it had. A request that finds less in the cache follows a cut, or comes too late. */
const leastKept = 0.8;

/** The turns of one thread that wrote it to the cache anew, and what such a turn costs on average. */
function cutsIn(turns: readonly Turn[], each: readonly Total[], asked: readonly Asked[], cents: readonly number[]) {
  if (new Set(turns.map(({ place }) => place)).size > 1) return {};
  const isLost = ({ read }: Total, at: number) => read < (each[at - 1]?.tokens ?? 0) * leastKept;
  const lines = asked.flatMap(({ turn }, at) => (each.slice(at, at + 1).some((one) => isLost(one, at)) ? [turn] : []));
  if (lines.length === 0) return {};
  return {
    cuts: { lines: lines.map((turn) => turn + 1), meanCents: rounded(mean(lines.map((turn) => cents[turn] ?? 0))) },
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

const rounded = (value: number) => Number(value.toPrecision(3));

/** One breakpoint at the end of the system text, and one at the end of the messages. */
function barePrompts(turns: readonly Turn[], asked: readonly Asked[], sent: readonly Block[][]): Block[][] {
  const stable = stableBlocks(sent);
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

/** Tools and system text of our first prompt, without what belongs to its message alone. */
function stableBlocks([first = [], ...others]: readonly Block[][]): Block[] {
  const known = others.map((blocks) => new Set(blocks.map(({ text }) => text)));
  const isStable = ({ text }: Block) => text.startsWith('{"instructions"') || known.every((texts) => texts.has(text));
  const before = first.slice(
    0,
    first.findIndex(({ text }) => text.includes('"role":"user"')),
  );
  return before.filter(isStable).map((one) => ({ ...one, mark: undefined }));
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
