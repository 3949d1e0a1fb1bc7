/** Starts the bare bot (bare-bot.ts) in a process of its own, and talks to it. */
import { startBareBot } from "./bare-process.ts";

export interface BareClient {
  /** Resolves when the client has the finished answer. */
  say(text: string): Promise<void>;
  kill(): void;
}

export async function startBareClient(modelUrl: string): Promise<BareClient> {
  const bare = await startBareBot("page", { ANTHROPIC_API_KEY: "bench", ANTHROPIC_BASE_URL: modelUrl });
  const ended = new AbortController();
  const finished = new Map<string, () => void>();
  const stream = await fetch(bare.url, { signal: ended.signal });
  const watch = async () => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream.body ?? []) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) finished.get(/"id":"([^"]+)".*"state":"done"/.exec(line)?.[1] ?? "")?.();
    }
  };
  watch().catch(() => {});
  let count = 0;
  return {
    async say(text) {
      const id = `m${count++}`;
      const done = new Promise<void>((ready) => finished.set(id, ready));
      await fetch(bare.url, { method: "POST", body: JSON.stringify({ id, text }) });
      await done;
    },
    kill() {
      ended.abort();
      bare.kill();
    },
  };
}
