/**
 * `/remora export` gives people everything that memory and the summaries of their conversations contain about them, but only
 * in a direct message.
 */
import type { CommandHandler } from "../ports/command.ts";
import type { Author } from "../ports/message.ts";

export interface MemoryExport {
  exportAll(platform: string, by: Author): Promise<{ path: string; text: string }[]>;
}

/** Platforms show long texts in several messages or as a file. */
const maxPartCharacters = 20_000;

export function exportCommand(memory: MemoryExport): CommandHandler {
  return {
    usage: "export [PART]",
    description: "get everything I remember about you, as Markdown",
    async run({ platform, scope, rest, by }) {
      // An export is private, and not every platform can show text to only one person.
      if (scope !== `dm:${by.id}`)
        return "Ask me for your export in a direct message: it contains what you said in private.";
      const files = await memory.exportAll(platform, by);
      if (files.length === 0) return "I remember nothing about you.";
      const parts = splitParts(files.map(({ path, text }) => `<!-- ${path} -->\n${text.trim()}\n`).join("\n"));
      const wanted = rest.trim() === "" ? 1 : Number(rest.trim());
      const part = Number.isInteger(wanted) ? parts[wanted - 1] : undefined;
      if (part === undefined) {
        return parts.length === 1
          ? "There is no such part. The export has 1 part."
          : `There is no such part. The export has ${parts.length} parts.`;
      }
      const next = wanted < parts.length ? ` For the next part: \`/remora export ${wanted + 1}\`.` : "";
      return `Part ${wanted} of ${parts.length}, from ${files.length} files.${next}\n\n${fencedMarkdown(part)}`;
    },
  };
}

function splitParts(text: string): string[] {
  const parts: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const lineEnd = rest.length <= maxPartCharacters ? rest.length : rest.lastIndexOf("\n", maxPartCharacters) + 1;
    const end = lineEnd > 0 ? lineEnd : maxPartCharacters;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return parts;
}

/** Uses a fence that is longer than any fence in the text. */
function fencedMarkdown(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}markdown\n${text.trimEnd()}\n${fence}`;
}
