/** `/remora memory` and `/remora export`: what is remembered, for the people it is about. */

import { asCode } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { Memory, MemoryHit } from "../ports/memory.ts";
import type { InboundCommand, MemoryScope } from "../ports/message.ts";

/** What people may see of the memory. */
export interface ReadableMemory extends Pick<Memory, "search"> {
  /** Entries that can be found in these scopes. */
  count(scopes: MemoryScope[]): Promise<number>;
  /** Headlines of the newest entries of a scope, newest first; `at` is ISO 8601. */
  newest(scope: MemoryScope, limit: number): Promise<{ at: string; headline: string }[]>;
  knowledge: { list(scope: MemoryScope): Promise<string[]> };
  exportAll(owner: { userId: string }): Promise<{ path: string; text: string }[]>;
}

const shown = { newest: 5, notes: 20, hits: 6, words: 220 };
/** Characters of one part of an export; platforms show long texts in several messages or as a file. */
const partCharacters = 20_000;

export function memoryCommand(memory: ReadableMemory): CommandHandler {
  async function overview({ scope }: InboundCommand): Promise<string> {
    const [own, shared, newest, notes, sharedNotes] = await Promise.all([
      memory.count([scope]),
      memory.count(["shared"]),
      memory.newest(scope, shown.newest),
      memory.knowledge.list(scope),
      memory.knowledge.list("shared"),
    ]);
    return [
      `Remembered ${scope.startsWith("dm:") ? "in this DM" : "in this channel"}: ${entries(own)}. Shared with every conversation: ${entries(shared)}.`,
      ...notesText("Notes here", notes),
      ...notesText("Shared notes", sharedNotes),
      ...(newest.length === 0 ? [] : ["", "Newest:"]),
      ...newest.map(({ at, headline }) => `- ${at.slice(0, 16).replace("T", " ")} UTC ${asCode(headline, 120)}`),
      "",
      "`/remora memory WORDS` searches, `/remora export` gives you what is yours, `/remora forget` removes it.",
    ].join("\n");
  }

  async function search(query: string, { scope }: InboundCommand): Promise<string> {
    const hits = await memory.search({ query, scopes: [scope, "shared"], limit: shown.hits });
    if (hits.length === 0) return `Nothing is remembered here about ${asCode(query, 80)}.`;
    return hits.map(hitText).join("\n");
  }

  const description = "what is remembered here, or what it says about some words";
  return {
    usage: "memory [WORDS]",
    description,
    run: (command) => (command.rest.trim() === "" ? overview(command) : search(command.rest.trim(), command)),
  };
}

export function exportCommand(memory: ReadableMemory): CommandHandler {
  return {
    usage: "export [PART]",
    description: "everything that is remembered of you, as Markdown",
    async run({ scope, rest, by }) {
      // It holds what was said in private, and not every platform can show something to one person alone.
      if (scope !== `dm:${by.id}`)
        return "An export holds what you said in private: ask me for it in a direct message.";
      const files = await memory.exportAll({ userId: by.id });
      if (files.length === 0) return "Nothing is remembered of you.";
      const parts = partsOf(files.map(({ path, text }) => `<!-- ${path} -->\n${text.trim()}\n`).join("\n"));
      const wanted = rest.trim() === "" ? 1 : Number(rest.trim());
      const part = Number.isInteger(wanted) ? parts[wanted - 1] : undefined;
      if (part === undefined) return `There is no such part: the export has ${parts.length}.`;
      const next = wanted < parts.length ? ` \`/remora export ${wanted + 1}\` gives the next.` : "";
      return `Part ${wanted} of ${parts.length}, from ${files.length} files.${next}\n\n${fenced(part)}`;
    },
  };
}

function entries(count: number): string {
  return count === 1 ? "1 entry" : `${count.toLocaleString("en")} entries`;
}

function notesText(label: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const names = paths.slice(0, shown.notes).map((path) => asCode(path.replace(/\.md$/, ""), 80));
  const more = paths.length > shown.notes ? ` and ${paths.length - shown.notes} more` : "";
  return [`${label}: ${names.join(", ")}${more}.`];
}

function hitText({ at, heading, scope, text }: MemoryHit): string {
  const where = scope === "shared" ? "shared" : "";
  const when = at === "" ? "" : `${at.slice(0, 16).replace("T", " ")} UTC`;
  const head = [when, where].filter((word) => word !== "").join(", ");
  return `- ${head === "" ? "" : `${head}: `}${asCode(heading, 100)}\n  ${asCode(text, shown.words)}`;
}

/** Cut at line ends where there are some. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const lineEnd = rest.length <= partCharacters ? rest.length : rest.lastIndexOf("\n", partCharacters) + 1;
    const end = lineEnd > 0 ? lineEnd : partCharacters;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return parts;
}

/** Between fences that are longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}markdown\n${text.trimEnd()}\n${fence}`;
}
