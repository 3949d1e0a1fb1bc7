/**
 * The output limit: a text that is too long for the model is kept whole in a file that its tools can read, and the model
 * gets its beginning, its end, and where the rest is.
 */
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { messageOf } from "../../lib/errors.ts";
import { fileNameOf } from "../../lib/file-name.ts";

/** As the file tools and commands see the folder. */
const outputsPath = "/outputs";

export interface OutputLimit {
  /** Characters that the model reads at most, the note about the rest included. */
  characters: number;
  /** Outside every working folder: it is nothing that a turn changes. */
  folder: string;
  /** Names the file; the same job overwrites its own. */
  jobId: string;
}

/** Never rejects: where the file can't be written, the text says so. */
export async function limitOutput(text: string, limit: OutputLimit): Promise<string> {
  if (text.length <= limit.characters) return text;
  const note = await keep(text, limit);
  const room = Math.max(0, limit.characters - note.length);
  // Commands say what they do first and what went wrong last.
  const head = Math.ceil(room * 0.7);
  return `${cutBefore(text, head)}${note}${cutAfter(text, text.length - (room - head))}`;
}

/** Of the file that keeps the whole output of a job. */
export function outputName(jobId: string): string {
  return `${fileNameOf(jobId)}.txt`;
}

async function keep(text: string, { folder, jobId }: OutputLimit): Promise<string> {
  const name = outputName(jobId);
  const size = `${text.length.toLocaleString("en")} characters`;
  try {
    await writeFileAtomic(join(folder, name), text);
    return `\n\n[… output shortened: all ${size} of it are in the file ${outputsPath}/${name} …]\n\n`;
  } catch (thrown) {
    return `\n\n[… output shortened: it had ${size}, and the rest could not be kept (${messageOf(thrown)}) …]\n\n`;
  }
}

/** The first `end` characters, without half of a surrogate pair at the cut. */
function cutBefore(text: string, end: number): string {
  return text.slice(0, isPairAt(text, end) ? end - 1 : end);
}

function cutAfter(text: string, start: number): string {
  return text.slice(isPairAt(text, start) ? start + 1 : start);
}

function isPairAt(text: string, index: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(index - 1, index + 1));
}
