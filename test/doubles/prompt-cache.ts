/**
 * What a service's prompt cache can reuse of a request, given the earlier requests of the same turn. Prompts are compared in the
 * order in which services read them: tools, system, messages. Sizes are bytes of JSON without cache breakpoints.
 */
import { z } from "zod";

const blocks = z.array(z.record(z.string(), z.unknown()));
const body = z.looseObject({
  tools: blocks.default([]),
  system: blocks.default([]),
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), blocks]) })),
});

interface Block {
  text: string;
  isMarked: boolean;
}

export interface CachedShare {
  bytes: number;
  /** Reused with Anthropic's breakpoints. */
  marked: number;
  /** Reused by a service that finds the longest prefix itself, such as OpenAI's, Gemini or Ollama. */
  automatic: number;
}

/** Anthropic looks for an earlier entry at most this many blocks before a breakpoint. */
const maxLookBack = 20;

/** `requests` are bodies for Anthropic's Messages API. Returns one entry per request from the second on. */
export function cachedShares(requests: readonly string[]): CachedShare[] {
  const prompts = requests.map(blocksOf);
  return prompts.slice(1).map((current, index) => {
    const earlier = prompts.slice(0, index + 1);
    return {
      bytes: bytesOf(current),
      marked: Math.max(...earlier.map((one) => bytesOf(current.slice(0, reusedAtBreakpoints(one, current))))),
      automatic: Math.max(...earlier.map((one) => bytesOf(current.slice(0, samePrefix(one, current))))),
    };
  });
}

export function shareOf(steps: readonly CachedShare[], kind: "marked" | "automatic"): number {
  const sum = (key: keyof CachedShare) => steps.reduce((total, step) => total + step[key], 0);
  return sum(kind) / sum("bytes");
}

function blocksOf(request: string): Block[] {
  const { tools, system, messages } = body.parse(JSON.parse(request));
  const said = messages.flatMap(({ role, content }) =>
    (typeof content === "string" ? [{ type: "text", text: content }] : content).map((block) => ({ role, ...block })),
  );
  const all: Record<string, unknown>[] = [...tools, ...system, ...said];
  return all.map(({ cache_control: mark, ...block }) => {
    return { text: JSON.stringify(block), isMarked: mark !== undefined };
  });
}

function bytesOf(parts: readonly Block[]): number {
  return parts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

function samePrefix(one: readonly Block[], other: readonly Block[]): number {
  const different = other.findIndex(({ text }, index) => text !== one[index]?.text);
  return different === -1 ? other.length : different;
}

/** Number of blocks up to the last breakpoint of `one` that a breakpoint of `other` finds. */
function reusedAtBreakpoints(one: readonly Block[], other: readonly Block[]): number {
  const same = samePrefix(one, other);
  const isFound = (at: number) => other.slice(at, at + maxLookBack).some(({ isMarked }) => isMarked);
  return one.slice(0, same).findLastIndex(({ isMarked }, at) => isMarked && isFound(at)) + 1;
}
