/**
 * Searches what people and the agent said, newest first, in chunks, so that a long chat does not block the process.
 * Every word of the query must be in the text or in the name of a file, in any case. The words are plain text.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTick } from "node:timers/promises";
import type { ChatMessage } from "./chat-message.ts";
import { maxSearchedMessages, maxSearchWords, searchPageSize } from "./limits.ts";

export interface FoundMessage extends Pick<ChatMessage, "id" | "place" | "thread" | "author" | "at"> {
  /** The text around the first match, on one line. */
  excerpt: { before: string; match: string; after: string };
}

export interface SearchResult {
  found: FoundMessage[];
  /** Present if older messages have not been searched yet: pass it as `before`. */
  next?: number;
}

/** Finds only what this viewer can read. */
export type ChatSearch = (viewer: string, query: string, before: number) => Promise<SearchResult>;

const chunkSize = 500;
const charactersBefore = 60;
const charactersAfter = 160;

/** `visible` is the condition that every reading statement of the chat uses. */
export function createChatSearch(database: DatabaseSync, visible: string): ChatSearch {
  const sql = `SELECT message.sequence, message.body FROM messages message
    WHERE ${visible} AND message.type = 'message' AND message.is_deleted = 0 AND message.sequence < :end
    ORDER BY message.sequence DESC LIMIT ${chunkSize}`;

  return async (viewer, query, before) => {
    const patterns = patternsOf(query);
    const found: FoundMessage[] = [];
    let end = before;
    for (let searched = 0; patterns.length > 0 && searched < maxSearchedMessages; searched += chunkSize) {
      const rows = database.prepare(sql).all({ viewer, dm: `dm:${viewer}`, end });
      for (const { sequence, body } of rows) {
        end = Number(sequence);
        const match = matchOf(JSON.parse(`${body}`) as ChatMessage, patterns);
        if (match !== undefined) found.push(match);
        if (found.length === searchPageSize) return { found, next: end };
      }
      if (rows.length < chunkSize) return { found };
      await nextTick();
    }
    return patterns.length === 0 ? { found } : { found, next: end };
  };
}

function patternsOf(query: string): RegExp[] {
  const words = query.normalize().split(/\s+/u).filter(Boolean);
  return [...new Set(words)].slice(0, maxSearchWords).map((word) => new RegExp(escaped(word), "iu"));
}

function matchOf(message: ChatMessage, patterns: readonly RegExp[]): FoundMessage | undefined {
  const { id, place, thread, author, at, files } = message;
  const text = [message.text, ...files.map(({ name }) => name)].filter(Boolean).join("\n").normalize();
  const [first, ...others] = patterns.map((pattern) => pattern.exec(text));
  if (first === undefined || first === null || others.includes(null)) return undefined;
  const end = first.index + first[0].length;
  const start = Math.max(0, first.index - charactersBefore);
  return {
    ...{ id, place, thread, author, at },
    excerpt: {
      before: `${start > 0 ? "…" : ""}${oneLine(text.slice(start, first.index))}`,
      match: oneLine(first[0]),
      after: `${oneLine(text.slice(end, end + charactersAfter))}${text.length > end + charactersAfter ? "…" : ""}`,
    },
  };
}

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** A cut can leave half of a surrogate pair. */
function oneLine(text: string): string {
  return text.toWellFormed().replace(/\s+/gu, " ");
}
