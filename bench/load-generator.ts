/**
 * A load generator for the page's API: it writes in many threads at once and watches the answers. It is lighter than the
 * tests' chat client, so the agent dominates what is measured.
 */
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { OrderCheck } from "./order-check.ts";

interface Served {
  url: string;
  token: string;
}

interface Shown {
  id: string;
  thread: string | null;
  type: string;
  state: string;
  author: { isBot: boolean };
}

export interface LoadGenerator {
  /**
   * Writes `say <round>-<conversation>-<number>.` in `conversations` new threads, `messages` times each. Resolves when the
   * model has seen and answered everything. `acceptedMs`: time until all messages were accepted.
   */
  talk(round: string, conversations: number, messages: number): Promise<{ acceptedMs: number }>;
  /** Number of finished answers. */
  turns(): number;
  close(): void;
}

/** `order` sees the model's requests. */
export async function createLoadGenerator({ url, token }: Served, order: OrderCheck): Promise<LoadGenerator> {
  const headers = { authorization: `Bearer ${token}`, origin: url, "content-type": "application/json" };
  const ended = new AbortController();
  const finished = new Set<string>();
  /** By thread. */
  const answers = new Map<string, Set<string>>();
  let onAnswer: (thread: string) => void = () => {};

  function see({ id, thread, type, state, author }: Shown): void {
    if (thread === null || type !== "message" || !author.isBot || (state !== "done" && state !== "failed")) return;
    finished.add(id);
    const known = answers.get(thread) ?? new Set();
    answers.set(thread, known.add(id));
    onAnswer(thread);
  }

  async function watch(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const start = block.indexOf("data: {");
        if (start !== -1) see(JSON.parse(block.slice(start + 6, endOf(block, start))) as Shown);
      }
    }
  }

  async function say(text: string, thread?: string): Promise<Shown> {
    const body = JSON.stringify({ id: randomUUID(), person: "ann", channel: "general", text, thread });
    const request = () => fetch(`${url}/local/api/messages`, { method: "POST", headers, body });
    // The server may have closed an idle connection. Retrying is safe: the same id is the same message.
    const response = await request().catch(request);
    if (!response.ok) throw new Error(`not accepted: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { message: Shown }).message;
  }

  /** Returns the thread. */
  async function converse(name: string, messages: number): Promise<string> {
    const { id: thread } = await say(`@remora say ${name}-0.`);
    for (let number = 1; number < messages; number++) await say(`say ${name}-${number}.`, thread);
    return thread;
  }

  const stream = await fetch(`${url}/local/api/events?person=ann&since=0`, { headers, signal: ended.signal });
  if (stream.body === null) throw new Error(`events answered ${stream.status}`);
  watch(stream.body).catch(() => {});

  return {
    async talk(round, conversations, messages) {
      const began = performance.now();
      const names = Array.from({ length: conversations }, (_, index) => `${round}-${index}`);
      const threads = new Map(
        await Promise.all(names.map(async (name) => [await converse(name, messages), name] as const)),
      );
      const acceptedMs = performance.now() - began;
      await new Promise<void>((resolve) => {
        onAnswer = (thread) => {
          const name = threads.get(thread);
          if (name === undefined || !order.isThrough(name, messages, answers.get(thread)?.size ?? 0)) return;
          threads.delete(thread);
          if (threads.size === 0) resolve();
        };
        for (const thread of [...threads.keys()]) onAnswer(thread);
      });
      onAnswer = () => {};
      return { acceptedMs };
    },
    turns: () => finished.size,
    close: () => ended.abort(),
  };
}

function endOf(block: string, start: number): number | undefined {
  const end = block.indexOf("\n", start);
  return end === -1 ? undefined : end;
}
