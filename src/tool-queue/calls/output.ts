/** Limits a tool's output. Long output is written to a file; the model gets its start, its end and the file's path. */
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { messageOf } from "../../lib/errors.ts";
import { fileNameOf } from "../../lib/file-name.ts";
import { formatNumber } from "../../lib/text/format-number.ts";

const outputsPath = "/outputs";

export interface OutputLimit {
  characters: number;
  /** Outside of every working folder, because these files are not changes made by the turn. Absent if nothing may be kept. */
  folder?: string;
  /** Determines the file's name, so a repeated job overwrites its own file. */
  jobId: string;
}

/** Never rejects. If the file can't be written, the text says so. */
export async function limitOutput(text: string, limit: OutputLimit): Promise<string> {
  if (text.length <= limit.characters) return text;
  const note = await keep(text, limit);
  const room = Math.max(0, limit.characters - note.length);
  // Keep start and end, because commands usually say first what they do and last what went wrong.
  const head = Math.ceil(room * 0.7);
  return `${cutBefore(text, head)}${note}${cutAfter(text, text.length - (room - head))}`;
}

export function outputName(jobId: string): string {
  return `${fileNameOf(jobId)}.txt`;
}

async function keep(text: string, { folder, jobId }: OutputLimit): Promise<string> {
  const name = outputName(jobId);
  const size = `${formatNumber(text.length)} characters`;
  if (folder === undefined) return `\n\n[… output shortened: it had ${size}, and the rest is not kept …]\n\n`;
  try {
    await writeFileAtomic(join(folder, name), text);
    return `\n\n[… output shortened: the full ${size} are in the file ${outputsPath}/${name} …]\n\n`;
  } catch (thrown) {
    return `\n\n[… output shortened: it had ${size}; the rest could not be saved (${messageOf(thrown)}) …]\n\n`;
  }
}

function cutBefore(text: string, end: number): string {
  return text.slice(0, isPairAt(text, end) ? end - 1 : end);
}

function cutAfter(text: string, start: number): string {
  return text.slice(isPairAt(text, start) ? start + 1 : start);
}

function isPairAt(text: string, index: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(index - 1, index + 1));
}
