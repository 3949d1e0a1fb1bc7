/**
 * The prompt caches of the model services, by their public rules, read on 2026-11-28:
 *
 *   anthropic     https://platform.claude.com/docs/en/build-with-claude/prompt-caching. The order is tools, system, messages. Writes at
 *                 breakpoints only, at most 4, those of an hour first. Reads the longest prefix that was written, at most 20 blocks
 *                 before a breakpoint. Lives 5 minutes or an hour, anew with each hit.
 *   prefix        OpenAI before GPT-5.6, https://developers.openai.com/api/docs/guides/prompt-caching. Reads the longest common prefix in steps of
 *                 128 tokens; writing costs nothing more. Lives 5 to 10 minutes.
 *   breakpoints   GPT-5.6 and later, the same page and the reference of `prompt_cache_options`. Writes at the end of the newest message of a
 *                 person or tool, and at the latest 3 explicit breakpoints. Reads exactly what was written, at the latest 80 breakpoints
 *                 or ends of messages. Lives 30 minutes.
 *
 * Tokens are estimates, and no service promises a hit, so the figures compare prompts, and are no bills.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { estimateTokens, imageTokens } from "../../src/context/tokens.ts";
import type { Price } from "../../src/usage/price-table.ts";

export type CacheKind = "anthropic" | "prefix" | "breakpoints";
type Ttl = "5m" | "1h" | "30m";

export interface Block {
  /** As it is on the wire, without its breakpoint. */
  text: string;
  tokens: number;
  mark?: Ttl | undefined;
  /** Ends what a person or a tool has said. */
  isEnd: boolean;
}

export interface CacheUse {
  tokens: number;
  read: number;
  written: number;
  /** Of `written`. */
  writtenForAnHour: number;
}

export interface PromptCache {
  /** `at` is in milliseconds. */
  send(blocks: readonly Block[], at: number): CacheUse;
}

const minutes = 60_000;
const lifeMs: Record<Ttl, number> = { "5m": 5 * minutes, "1h": 60 * minutes, "30m": 30 * minutes };
/** Some models of Anthropic need 512, 2,048 or 4,096. */
const leastTokens = 1_024;
const stepTokens = 128;
const maxMarks = 4;
const maxLookBack = 20;
const maxTried = 80;
/** For the role and the ends of a block. */
const frameTokens = 4;

const part = z.looseObject({
  type: z.string().optional(),
  cache_control: z.object({ ttl: z.string() }).partial().optional(),
});
const parts = z.union([z.string().transform((text) => [{ type: "text", text }]), z.array(part)]);
const claude = z.looseObject({
  tools: z.array(part).default([]),
  system: parts.default([]),
  messages: z.array(z.object({ role: z.string(), content: parts })),
});
const gpt = z.looseObject({
  tools: z.array(part).default([]),
  instructions: z.string().default(""),
  input: z.array(z.looseObject({ role: z.string().optional(), content: parts.optional(), output: parts.optional() })),
});

/** The blocks of a request to the Messages API or the Responses API, in the order in which services read them. */
export function blocksOf(request: string): Block[] {
  const body: unknown = JSON.parse(request);
  const isClaude = claude.safeParse(body);
  return isClaude.success ? claudeBlocks(isClaude.data) : gptBlocks(gpt.parse(body));
}

function claudeBlocks({ tools, system, messages }: z.infer<typeof claude>): Block[] {
  const said = messages.flatMap(({ role, content }) =>
    content.map((one, index) => block({ role, ...one }, role === "user" && index === content.length - 1)),
  );
  return [...tools.map((tool) => block(tool)), ...system.map((one) => block(one)), ...said];
}

function gptBlocks({ tools, instructions, input }: z.infer<typeof gpt>): Block[] {
  const said = input.flatMap((item) => {
    const { content, output, ...rest } = item;
    // One block for all parts of a result, with the breakpoint of its last one.
    if (output !== undefined) return [block({ ...rest, ...unmarked(output) }, true)];
    if (content === undefined) return [block(rest)];
    const isEnd = (index: number) => rest.role === "user" && index === content.length - 1;
    return content.map((one, index) => block({ ...rest, ...one }, isEnd(index)));
  });
  return [...tools.map((tool) => block(tool)), ...(instructions === "" ? [] : [block({ instructions })]), ...said];
}

function unmarked(output: readonly Record<string, unknown>[]): Record<string, unknown> {
  const texts = output.map(({ prompt_cache_breakpoint: _mark, ...one }) => one);
  const { prompt_cache_breakpoint: mark } = output.at(-1) ?? {};
  return { output: texts, ...(mark === undefined ? {} : { prompt_cache_breakpoint: mark }) };
}

export function block(content: Record<string, unknown>, isEnd = false): Block {
  const { cache_control: claudes, prompt_cache_breakpoint: gpts, ...rest } = content;
  const ttl = z.object({ ttl: z.literal("1h") }).safeParse(claudes).success ? "1h" : "5m";
  const mark = claudes !== undefined ? ttl : gpts !== undefined ? "30m" : undefined;
  const isTool = rest.input_schema !== undefined || rest.parameters !== undefined;
  const words = isTool ? [JSON.stringify(rest)] : wordsIn(rest);
  const tokens = words.reduce((sum, word) => sum + (word.length > 100_000 ? imageTokens : estimateTokens(word)), 0);
  return { text: JSON.stringify(rest), tokens: tokens + frameTokens, mark, isEnd };
}

/** What a model reads of a block, which is not its JSON. */
function wordsIn(value: unknown, key = ""): string[] {
  if (["type", "role", "is_error", "media_type", "detail"].includes(key)) return [];
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, one]) => (key === "input" ? [name] : []).concat(wordsIn(one, name)));
  return value === undefined || value === null ? [] : [String(value)];
}

export function tokensOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}

export function createPromptCache(kind: CacheKind, least = leastTokens): PromptCache {
  return kind === "prefix" ? createPrefixCache(least) : createBreakpointCache(kind, least);
}

function createPrefixCache(least: number): PromptCache {
  const known: { blocks: readonly Block[]; at: number }[] = [];
  return {
    send(blocks, at) {
      const live = known.filter((one) => at - one.at <= lifeMs["5m"]);
      const common = Math.max(0, ...live.map((one) => commonTokens(one.blocks, blocks)));
      known.push({ blocks, at });
      const read = common < least ? 0 : common - (common % (least === 0 ? 1 : stepTokens));
      return { tokens: tokensOf(blocks), read, written: 0, writtenForAnHour: 0 };
    },
  };
}

function commonTokens(one: readonly Block[], other: readonly Block[]): number {
  const found = other.findIndex(({ text }, index) => text !== one[index]?.text);
  const same = found === -1 ? other.length : found;
  const [mine, next] = [one[same]?.text ?? "", other[same]];
  if (next === undefined) return tokensOf(other);
  return tokensOf(other.slice(0, same)) + Math.floor((commonLength(mine, next.text) / next.text.length) * next.tokens);
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function createBreakpointCache(kind: "anthropic" | "breakpoints", least: number): PromptCache {
  const live = new Map<string, { until: number; ttl: Ttl }>();
  return {
    send(blocks, at) {
      const [hashes, ends] = [hashesOf(blocks), endsOf(blocks)];
      const marks = (kind === "anthropic" ? claudeMarks(blocks) : gptMarks(blocks)).filter(
        ({ index }) => (ends[index] ?? 0) >= least,
      );
      const isLive = (index: number) => (live.get(hashes[index] ?? "")?.until ?? -1) >= at;
      const tried = kind === "anthropic" ? marks.flatMap(({ index }) => lookBack(index)) : triedEnds(blocks);
      const hit = Math.max(-1, ...tried.filter(isLive));
      let [written, writtenForAnHour, end] = [0, 0, ends[hit] ?? 0];
      const read = end;
      for (const { index, ttl } of marks) {
        const more = Math.max(0, (ends[index] ?? 0) - end);
        [written, end] = [written + more, end + more];
        if (ttl === "1h") writtenForAnHour += more;
        live.set(hashes[index] ?? "", { until: at + lifeMs[ttl], ttl });
      }
      // What is read is used anew, and so is all that it begins with.
      for (const hash of hashes.slice(0, hit + 1)) {
        const entry = live.get(hash);
        if (entry !== undefined && entry.until >= at) entry.until = at + lifeMs[entry.ttl];
      }
      return { tokens: ends.at(-1) ?? 0, read, written, writtenForAnHour };
    },
  };
}

interface Mark {
  index: number;
  ttl: Ttl;
}

function claudeMarks(blocks: readonly Block[]): Mark[] {
  const marks = blocks.flatMap(({ mark }, index) => (mark === undefined ? [] : [{ index, ttl: mark }]));
  if (marks.length > maxMarks)
    throw new Error(`a maximum of 4 blocks with cache_control may be provided, found ${marks.length}`);
  const firstShort = marks.findIndex(({ ttl }) => ttl === "5m");
  if (firstShort !== -1 && marks.slice(firstShort).some(({ ttl }) => ttl === "1h"))
    throw new Error("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block");
  return marks;
}

function gptMarks(blocks: readonly Block[]): Mark[] {
  const explicit = blocks.flatMap(({ mark }, index) => (mark === undefined ? [] : [index]));
  const own = blocks.findLastIndex(({ isEnd }) => isEnd);
  const indexes = [...new Set([...explicit.slice(1 - maxMarks), ...(own === -1 ? [] : [own])])];
  return indexes.sort((one, other) => one - other).map((index) => ({ index, ttl: "30m" }));
}

function lookBack(index: number): number[] {
  return Array.from({ length: Math.min(index + 1, maxLookBack) }, (_, back) => index - back);
}

function triedEnds(blocks: readonly Block[]): number[] {
  return blocks.flatMap(({ mark, isEnd }, index) => (isEnd || mark !== undefined ? [index] : [])).slice(-maxTried);
}

/** Of everything up to and including each block. */
function hashesOf(blocks: readonly Block[]): string[] {
  const hash = createHash("sha256");
  return blocks.map(({ text }) => hash.update(`${text}\n`).copy().digest("base64url"));
}

function endsOf(blocks: readonly Block[]): number[] {
  let sum = 0;
  return blocks.map(({ tokens }) => (sum += tokens));
}

/** US dollars for a prompt. An hour costs twice the input. */
export function dollarsFor({ tokens, read, written, writtenForAnHour }: CacheUse, price: Price): number {
  const { input, cacheRead = input, cacheWrite = input } = price;
  const short = written - writtenForAnHour;
  const plain = tokens - read - written;
  return (plain * input + read * cacheRead + short * cacheWrite + writtenForAnHour * input * 2) / 1e6;
}

/** Bytes of `before` with which `after` begins, as a share of all of them, without regard to breakpoints. */
export function keptShare(before: string, after: string): number {
  const [one, other] = [before, after].map((request) =>
    Buffer.from(
      blocksOf(request)
        .map(({ text }) => text)
        .join("\n"),
    ),
  );
  if (one === undefined || other === undefined || one.length === 0) return 1;
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length / one.length;
}
