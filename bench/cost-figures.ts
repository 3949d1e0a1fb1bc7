/** The figures of bench/cost.ts: prices of the prompts that were sent, and of a bare bot's for the same conversation. */
import { estimateTokens } from "../src/context/tokens.ts";
import { shippedPrices } from "../src/usage/price-table.ts";
import { type Block, block, type CacheKind, createPromptCache, dollarsFor } from "../test/doubles/prompt-cache.ts";
import type { Turn } from "./cost-stories.ts";

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
  const centsOf = (number: number) => totalOf(each.filter((_, at) => asked[at]?.turn === number - 1)).dollars * 100;
  const oneLines = turns.some(({ calls }) => calls.length > 0) ? [] : [12, 100];
  const shown = oneLines.filter((number) => number <= turns.length);
  return {
    requests: asked.length,
    ratio: rounded(ours.dollars / bare.dollars),
    promptRatio: rounded(ours.promptDollars / bare.promptDollars),
    dollars: both(({ dollars }) => rounded(dollars)),
    promptTokens: both(({ tokens }) => tokens),
    readShare: both(({ read, tokens }) => rounded(read / tokens)),
    writtenTokens: both(({ written }) => written),
    ...(shown.length === 0
      ? {}
      : { centsOfLine: Object.fromEntries(shown.map((one) => [one, rounded(centsOf(one))])) }),
  };
}

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
