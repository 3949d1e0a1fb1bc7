/**
 * Many people at the page in one: says things in many threads at once and sees when each is answered. Lighter than the
 * tests' chat client, so that what is measured is the agent.
 */
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";

interface Served {
  url: string;
  token: string;
}

interface Shown {
  id: string;
  thread: string | null;
  sequence: number;
  type: string;
  state: string;
  author: { isBot: boolean };
}

export interface Crowd {
  /**
   * Says `say <round>-<conversation>-<number>.` in `conversations` new threads, `messages` times each. Resolves when each
   * thread's last message is followed by a finished answer. `acceptedMs`: until all was kept.
   */
  talk(round: string, conversations: number, messages: number): Promise<{ acceptedMs: number }>;
  /** Answers that are finished. */
  turns(): number;
  close(): void;
}

export async function createCrowd([page]: [Served, ...Served[]]): Promise<Crowd> {
  const { url, token } = page;
  const headers = { authorization: `Bearer ${token}`, origin: url, "content-type": "application/json" };
  const ended = new AbortController();
  const finished = new Set<string>();
  /** By thread: the newest thing that people said, and the newest finished answer. */
  const saidAt = new Map<string, number>();
  const answeredAt = new Map<string, number>();
  let onAnswer: (thread: string) => void = () => {};

  function see({ id, thread, sequence, type, state, author }: Shown): void {
    if (thread === null || type !== "message" || !author.isBot || (state !== "done" && state !== "failed")) return;
    finished.add(id);
    answeredAt.set(thread, Math.max(sequence, answeredAt.get(thread) ?? 0));
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
    // A connection that was left idle may be closed just now; the same id is the same message.
    const response = await request().catch(request);
    if (!response.ok) throw new Error(`not accepted: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { message: Shown }).message;
  }

  async function converse(name: string, messages: number): Promise<string> {
    const { id: thread, sequence } = await say(`@remora say ${name}-0.`);
    saidAt.set(thread, sequence);
    for (let number = 1; number < messages; number++) {
      saidAt.set(thread, (await say(`say ${name}-${number}.`, thread)).sequence);
    }
    return thread;
  }

  const stream = await fetch(`${url}/local/api/events?person=ann&since=0`, { headers, signal: ended.signal });
  if (stream.body === null) throw new Error(`events answered ${stream.status}`);
  watch(stream.body).catch(() => {});

  return {
    async talk(round, conversations, messages) {
      const began = performance.now();
      const names = Array.from({ length: conversations }, (_, index) => `${round}-${index}`);
      const threads = new Set(await Promise.all(names.map((name) => converse(name, messages))));
      const acceptedMs = performance.now() - began;
      const isAnswered = (thread: string) => (answeredAt.get(thread) ?? 0) > (saidAt.get(thread) ?? 0);
      await new Promise<void>((resolve) => {
        onAnswer = (thread) => {
          if (isAnswered(thread)) threads.delete(thread);
          if (threads.size === 0) resolve();
        };
        for (const thread of [...threads]) onAnswer(thread);
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
