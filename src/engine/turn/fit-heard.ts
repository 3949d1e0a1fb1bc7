/** Chooses the earlier messages that a turn keeps. */
import type { Earlier, EarlierLine, Heard } from "../../ports/earlier.ts";

export interface HeardLimits {
  messages: number;
  /** UTF-8 bytes of all texts together. */
  bytes: number;
}

/** Maximum share of the bytes per text so that one long message does not crowd out all others. */
const maxShare = 1 / 5;
const maxLineBytes = 8_000;
const maxFiles = 10;
const maxFileNameLength = 120;
const maxNameLength = 80;
/** How many linked messages to keep. With the thread's first message, they always fit (`maxShare`). */
const maxLinked = 3;
const ending = "…";

/** Keeps linked messages and the thread's first message, then the newest others within the limits. Oldest first. */
export function fitHeard({ lines, leftOut, ...rest }: Earlier, limits: HeardLimits): Heard {
  const lineBytes = Math.min(maxLineBytes, Math.floor(limits.bytes * maxShare));
  const short = withoutDuplicates(lines).map((line) => shortLine(line, lineBytes));
  const linked = short.filter(({ kind }) => kind === "linked").slice(0, maxLinked);
  const root = short.filter(({ kind }) => kind === "root").slice(0, 1);
  const others = short.filter(({ kind }) => kind === "thread" || kind === "channel").toSorted((a, b) => a.at - b.at);
  let bytes = [...linked, ...root].reduce((sum, line) => sum + bytesOf(line), 0);
  let first = others.length;
  while (first > 0 && others.length - first < limits.messages) {
    bytes += bytesOf(others[first - 1]);
    if (bytes > limits.bytes) break;
    first -= 1;
  }
  return { lines: [...linked, ...root, ...others.slice(first)], leftOut: leftOut + first, ...rest };
}

function bytesOf(line: EarlierLine | undefined): number {
  return Buffer.byteLength(line?.text ?? "");
}

/** Of several copies of a message, keeps the `root` or else the linked one, because they always fit. */
function withoutDuplicates(lines: readonly EarlierLine[]): EarlierLine[] {
  const byId = new Map<string, EarlierLine>();
  const rank = ({ kind }: EarlierLine) => (kind === "root" ? 2 : kind === "linked" ? 1 : 0);
  for (const line of lines) {
    const known = byId.get(line.id);
    if (known === undefined || rank(line) > rank(known)) byId.set(line.id, line);
  }
  return [...byId.values()];
}

function shortLine(line: EarlierLine, maxBytes: number): EarlierLine {
  const { author, files, text } = line;
  const names = files.slice(0, maxFiles).map((name) => cut(name, maxFileNameLength));
  return {
    ...line,
    author: { ...author, name: cut(author.name, maxNameLength) },
    files: names,
    text: cut(text, maxBytes),
  };
}

/** Cuts to `maxBytes` UTF-8 bytes without splitting a character. */
function cut(text: string, maxBytes: number): string {
  const whole = Buffer.from(text);
  if (whole.byteLength <= maxBytes) return text.toWellFormed();
  const kept = whole.subarray(0, Math.max(0, maxBytes - Buffer.byteLength(ending)));
  return `${new TextDecoder().decode(kept).replace(/\uFFFD+$/, "")}${ending}`;
}
