/** `/remora memory` shows or searches what a conversation remembers. */
import { formatNumber } from "../lib/text/format-number.ts";
import { asCode } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { Memory, MemoryHit } from "../ports/memory.ts";
import type { InboundCommand, MemoryScope } from "../ports/message.ts";

export interface ReadableMemory extends Pick<Memory, "search"> {
  /** Counts what `newest` and `knowledge.list` list. */
  count(scopes: MemoryScope[]): Promise<number>;
  /** `at` is an ISO 8601 time. */
  newest(scope: MemoryScope, limit: number): Promise<{ at: string; headline: string }[]>;
  knowledge: { list(scope: MemoryScope): Promise<string[]> };
}

const maxHeadlines = 5;
const maxNotes = 20;
const maxHits = 6;
const maxHitCharacters = 220;
const maxHeadlineCharacters = 120;
const maxHeadingCharacters = 100;
const maxNameCharacters = 80;

export function memoryCommand(memory: ReadableMemory): CommandHandler {
  async function overview({ scope }: InboundCommand): Promise<string> {
    const [count, newest, notes, sharedNotes] = await Promise.all([
      memory.count([scope]),
      memory.newest(scope, maxHeadlines),
      memory.knowledge.list(scope),
      memory.knowledge.list("shared"),
    ]);
    return [
      `Remembered ${scope.startsWith("dm:") ? "in this DM" : "in this channel"}: ${entryCount(count)}${including(notes)}. Shared with every conversation: ${noteCount(sharedNotes)}.`,
      ...notesText("Notes here", notes),
      ...notesText("Shared notes", sharedNotes),
      ...(newest.length === 0 ? [] : ["", "Newest:"]),
      ...newest.map(
        ({ at, headline }) => `- ${at.slice(0, 16).replace("T", " ")} UTC ${asCode(headline, maxHeadlineCharacters)}`,
      ),
      "",
      "`/remora memory WORDS` searches, `/remora export` gives you your part, `/remora forget` removes it.",
    ].join("\n");
  }

  async function search(query: string, { scope, platform, by, conversationId }: InboundCommand): Promise<string> {
    const payer = { platform, user: by, scope, conversationId };
    const hits = await memory.search({ query, scopes: [scope, "shared"], limit: maxHits, payer });
    if (hits.length === 0) return `I remember nothing here about ${asCode(query, maxNameCharacters)}.`;
    return hits.map(hitText).join("\n");
  }

  const description = "show what I remember here, or search it";
  return {
    usage: "memory [WORDS]",
    description,
    run: (command) => (command.rest.trim() === "" ? overview(command) : search(command.rest.trim(), command)),
  };
}

function entryCount(count: number): string {
  return count === 1 ? "1 entry" : `${formatNumber(count)} entries`;
}

function noteCount({ length }: readonly string[]): string {
  return length === 1 ? "1 note" : `${formatNumber(length)} notes`;
}

function including(notes: readonly string[]): string {
  return notes.length === 0 ? "" : `, including ${noteCount(notes)}`;
}

function notesText(label: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const names = paths.slice(0, maxNotes).map((path) => asCode(path.replace(/\.md$/, ""), maxNameCharacters));
  const more = paths.length > maxNotes ? ` and ${paths.length - maxNotes} more` : "";
  return [`${label}: ${names.join(", ")}${more}.`];
}

function hitText({ at, heading, scope, text }: MemoryHit): string {
  const where = scope === "shared" ? "shared" : "";
  const when = at === "" ? "" : `${at.slice(0, 16).replace("T", " ")} UTC`;
  const head = [when, where].filter((word) => word !== "").join(", ");
  return `- ${head === "" ? "" : `${head}: `}${asCode(heading, maxHeadingCharacters)}\n  ${asCode(text, maxHitCharacters)}`;
}
