/** Reads pages in isolated processes, two at a time. Extracts plain text from a page that exceeds the limits. */
import PQueue from "p-queue";
import { runIsolatedProcess } from "../../src/plugin-sdk/isolated-process.ts";
import { decodeText } from "./decode.ts";
import type { Page, PageRequest } from "./page.ts";

export interface PageReader {
  /** Rejects only when the signal aborts. */
  read(request: PageRequest, signal: AbortSignal): Promise<Page | BarePage>;
}

export interface BarePage {
  bareText: string;
  why: string;
}

export interface PageReaderOptions {
  timeoutMs?: number;
  megabytes?: number;
}

const module = new URL("./page-process.ts", import.meta.url);

export function createPageReader({ timeoutMs = 8_000, megabytes = 400 }: PageReaderOptions = {}): PageReader {
  const queue = new PQueue({ concurrency: 2 });
  return {
    read: (request, signal) =>
      queue.add(
        async () => {
          const outcome = await runIsolatedProcess({ module, request, timeoutMs, megabytes }, signal);
          // This cast is safe, because the process runs only our own code.
          if (outcome.type === "answer") return outcome.answer as Page;
          return { bareText: bareText(decodeText(request.body, request.contentType)), why: outcome.message };
        },
        { signal },
      ),
  };
}

export function bareText(html: string): string {
  const parts: string[] = [];
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at);
    parts.push(html.slice(at, open === -1 ? html.length : open));
    const close = open === -1 ? -1 : html.indexOf(">", open);
    if (close === -1) break;
    const [, name] = /^<(script|style|noscript|template|svg)\b/i.exec(html.slice(open, open + 12)) ?? [];
    at = name === undefined ? close + 1 : afterElement(html, close, name);
  }
  return parts.join(" ").replace(/\s+/g, " ").trim();
}

/** Returns the position after the closing tag. An unclosed element extends to the end, as in a browser. */
function afterElement(html: string, from: number, name: string): number {
  const end = new RegExp(`</${name}[^>]{0,1000}>`, "gi");
  end.lastIndex = from;
  return end.exec(html) === null ? html.length : end.lastIndex;
}
