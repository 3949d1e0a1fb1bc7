/** Reads a message as a person sees it, wherever it comes from: an event, an edit, a thread, a history, a link. */
import { createHash } from "node:crypto";
import type { ShownMessage } from "../../../ports/shown-message.ts";
import type { ChatAccess } from "../outbound/chat-access.ts";
import { type SlackFile, shownFiles } from "./attachments.ts";
import { firstWord, listIn, recordIn } from "./raw-values.ts";
import { readText, type TextReader } from "./readable-text.ts";
import { type MessageLike, type Quote, shownMarkup } from "./shown-markup.ts";

export interface SlackShown extends ShownMessage {
  /** Only what its author has written. */
  own: string;
  /** What others have written. */
  quotes: { kind: Quote["kind"]; text: string }[];
  files: SlackFile[];
}

export interface ShownReaderOptions {
  nameOf: TextReader["nameOf"];
  /** Whether everybody who reads `here` can read `channel`. */
  isOpenIn: ChatAccess["isOpenIn"];
}

export interface Seen {
  channel: string;
  /** A mention of the agent in front is left out. */
  botUserId?: string;
  /** The agent wrote it. */
  isOwn?: boolean;
}

export type ShownReader = (message: MessageLike, seen: Seen) => Promise<SlackShown>;

/** If a message mentions more people than this, the rest are left as ids. */
const maxNames = 20;

export function createShownReader({ nameOf, isOpenIn }: ShownReaderOptions): ShownReader {
  return async (message, { channel: here, botUserId, isOwn = false }) => {
    const { own, quotes, files } = shownMarkup(message, isOwn);
    const names = atMost(maxNames, nameOf);
    const read = async (quote: Quote) => {
      const isOpen = quote.isForwarded || (await isOpenIn(quote.channel ?? here, here)) === "open";
      const text = await readText(isOpen ? quote.markup : closedMarkup(quote), { nameOf: names });
      return { kind: quote.kind, text };
    };
    const text = await readText(own, { ...(botUserId === undefined ? {} : { botUserId }), nameOf: names });
    const quoted = (await Promise.all(quotes.map(read))).filter((quote) => quote.text !== "");
    const theirs = await Promise.all(quotes.flatMap((quote) => quote.files).map((file) => quotedFile(file, here)));
    const whole = [text, ...quoted.map((quote) => `[${quote.kind}] ${quote.text}`)].filter((part) => part !== "");
    return { text: whole.join("\n\n"), own: text, quotes: quoted, files: [...shownFiles(files), ...theirs.flat()] };
  };

  /** With the agent's rights, a file could be opened that not everybody here may see. Slack itself refuses what the agent can't see. */
  async function quotedFile({ raw, from, channel }: Quote["files"][number], here: string): Promise<SlackFile[]> {
    const files = shownFiles([raw], { from, ...(channel === undefined ? {} : { channel }) });
    if (channel === undefined || (await isOpenIn(channel, here)) !== "restricted") return files;
    return files.map(({ url: _url, ...file }) => ({ ...file, problem: file.problem ?? restricted }));
  }
}

const restricted =
  "This file is from a conversation that not everybody here can read, so I don't open it here. Upload the file itself.";

function closedMarkup({ url }: Quote): string {
  return `(a message of another conversation, which not everybody here can read)${url === "" ? "" : ` &lt;${url}&gt;`}`;
}

function atMost(most: number, nameOf: TextReader["nameOf"]): TextReader["nameOf"] {
  const asked = new Map<string, Promise<string>>();
  return async (id) => {
    if (asked.size >= most && !asked.has(id)) return id;
    const name = asked.get(id) ?? nameOf(id);
    asked.set(id, name);
    return await name;
  };
}

/** Without any call: names stay ids, and nothing of other channels is quoted. For logs, where people search for words. */
export function unreadMarks(message: MessageLike, here: string): string {
  const { own, quotes } = shownMarkup(message);
  const open = quotes.filter(({ isForwarded, channel = here }) => isForwarded || channel === here);
  return [own, ...open.map((quote) => `[${quote.kind}] ${quote.markup}`)].filter((part) => part !== "").join("\n\n");
}

/** What a second event of the same message may bring: words, files, and what it quotes. */
export function partsOf(message: MessageLike): ReadonlySet<string> {
  const { own, quotes, files } = shownMarkup(message);
  const all = [...files, ...quotes.flatMap((quote) => quote.files.map(({ raw }) => raw))];
  const ids = all.map((file) => `file ${firstWord(recordIn(file).id, recordIn(file).name)}`);
  const words = [own, ...quotes.map(({ markup }) => markup)].filter((each) => each.trim() !== "");
  return new Set([...words.map((each) => createHash("sha256").update(each).digest("base64url")), ...ids]);
}

export function isSameWords(previous: MessageLike | undefined, message: MessageLike): boolean {
  return previous !== undefined && shownMarkup(previous).own === shownMarkup(message).own;
}

export function hasMoreFiles(previous: MessageLike | undefined, message: MessageLike): boolean {
  const before = new Set(listIn(previous?.files).map((file) => recordIn(file).id));
  return previous !== undefined && listIn(message.files).some((file) => !before.has(recordIn(file).id));
}
