/**
 * Stores episodes: what was asked, done and answered. Each turn is one entry in the Markdown file of its day and scope.
 * A hidden marker names the turn so that saving it again replaces the entry. All words of people, tools and models are
 * quoted so that none can be mistaken for an entry or a marker.
 * Brain name: hippocampus.
 */
import { toIsoDate } from "../lib/iso-date.ts";
import type { Redact } from "../lib/redact.ts";
import { codeSpan, oneLine } from "../lib/text/sanitize.ts";
import type { ChangedWords, Episode } from "../ports/memory.ts";
import { distinctOrigins, type Origin } from "../ports/origin.ts";
import type { DayFiles } from "./day-files.ts";
import { quoted, shortened, unquoted } from "./markdown-quote.ts";
import { decodeOrigins, encodeOrigins, markerValue } from "./origin-mark.ts";
import { timeOf } from "./places.ts";

const limits = { headline: 80, name: 80, said: 100_000, arguments: 2_000, preview: 600 };

export interface EpisodeWriter {
  /** Resolves to the absolute path of the file. If it rejects (with a RemoraError), nothing has changed. */
  save(episode: Episode): Promise<string>;
  /** Changes or removes what was asked. Resolves to whether there was such an episode. */
  change(words: ChangedWords): Promise<boolean>;
}

export function createEpisodeWriter({ days, redact }: { days: DayFiles; redact: Redact }): EpisodeWriter {
  return {
    save(episode) {
      const { turnId, scope, at } = episode;
      const entry = entryOf(episode, redact);
      return days.change({
        ...{ kind: "episode", scope, at, entry: entryIdOf(turnId) },
        edit: (current) => withEntry(current === "" ? titleOf(scope, at) : current, turnId, entry),
        addition: `\n\n${entry}`,
      });
    },
    async change({ turnId, scope, at, userText }) {
      let isThere = false;
      await days.change({
        ...{ kind: "episode", scope, at, entry: entryIdOf(turnId) },
        edit(current) {
          const { preamble, entries } = parseDay(current);
          const isMine = ({ marker }: DayEntry) => marker?.turnId === turnId;
          isThere ||= entries.some(isMine);
          const said = userText === undefined ? undefined : redact(userText);
          const raws = entries.map((found) => (isMine(found) ? withWords(found.raw, said) : found.raw));
          return preamble + raws.join("");
        },
      });
      return isThere;
    },
  };
}

function entryIdOf(turnId: string) {
  return {
    id: markerValue(turnId),
    idsIn: (text: string) => Array.from(text.matchAll(/\n<!-- turn=(\S+) /g), (found) => found[1] ?? ""),
  };
}

/** Nothing without words. An entry that people have written anew goes as well, because nobody knows where its words are. */
function withWords(raw: string, said: string | undefined): string {
  const [, time, between, rest] =
    /^(## \S+ — )[^\n]*(\n[\s\S]*?\n\*\*User\*\* \([^\n]*\):\n\n)(?:>[^\n]*\n)*([\s\S]*)$/.exec(raw) ?? [];
  if (said === undefined || time === undefined || between === undefined || rest === undefined) return "";
  return `${time}${headlineOf(said)}${between}${quoted(shortened(said, limits.said))}\n${rest}`;
}

/** The content of an entry's marker. It never contains people's words. */
interface EntryMarker {
  turnId: string;
  at: string;
  outcome: string;
  userIds: string[];
}

export interface DayEntry {
  raw: string;
  marker?: EntryMarker;
}

/** Splits a day file. `preamble` and all `raw` texts together are the complete file. */
export function parseDay(text: string): { preamble: string; entries: DayEntry[] } {
  const [preamble = "", ...raws] = text.split(/(?<=^|\n)(?=## )/);
  return {
    preamble,
    entries: raws.map((raw) => {
      const marker = markerOf(raw);
      return marker === undefined ? { raw } : { raw, marker };
    }),
  };
}

export function readableEntry(text: string): string {
  return unquoted(text.replace(/(^|\n)<!-- turn=[^\n]*-->(?=\n|$)/g, "$1"))
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function withEntry(current: string, turnId: string, entry: string): string {
  // Usually the turn is new, so the file need not be parsed.
  if (!current.includes(markerStart(turnId))) return `${current.trimEnd()}\n\n${entry}`;
  const { preamble, entries } = parseDay(current);
  const isMine = (found: DayEntry) => found.marker?.turnId === turnId;
  const first = entries.findIndex(isMine);
  if (first === -1) return `${current.trimEnd()}\n\n${entry}`;
  const others = entries.map((found, index) => (index === first ? `${entry}\n` : isMine(found) ? "" : found.raw));
  return `${preamble}${others.join("").trimEnd()}\n`;
}

function titleOf(scope: string, at: number): string {
  return `# ${toIsoDate(at)} (UTC) — ${oneLine(scope, limits.name)}\n`;
}

function entryOf(episode: Episode, redact: Redact): string {
  const names = [...new Map(episode.users.map((user) => [user.id, oneLine(user.name, limits.name)])).values()];
  const said = redact(episode.userText);
  const tools = episode.tools.map((tool) => toolLines(tool, redact));
  const parts = [
    `## ${timeOf(episode.at).slice(0, 5)} — ${headlineOf(said)}`,
    markerText(episode),
    `**User** (${names.join(", ")}):`,
    quoted(shortened(said, limits.said)),
    ...(tools.length === 0 ? [] : ["**Tools**:", tools.join("\n")]),
    `**Response**${episode.outcome === "done" ? "" : ` (${episode.outcome})`}:`,
    quoted(shortened(redact(episode.response), limits.said)),
  ];
  return `${parts.join("\n\n")}\n`;
}

function toolLines({ call, result }: Episode["tools"][number], redact: Redact): string {
  const input = oneLine(redact(JSON.stringify(call.input)), limits.arguments);
  const head = `- ${codeSpan(oneLine(call.name, limits.name))} ${codeSpan(input)} → ${result.status}`;
  const preview = shortened(redact(result.text), limits.preview);
  return preview.trim() === "" ? head : `${head}\n  ${quoted(preview).split("\n").join("\n  ")}`;
}

function headlineOf(text: string): string {
  const line = text.split(/[\r\n]+/).find((candidate) => /[\p{L}\p{N}]/u.test(candidate)) ?? text;
  return oneLine(line.replace(/^[\s#>*+-]+/, "").replaceAll("<!--", ""), limits.headline) || "(no text)";
}

function markerStart(turnId: string): string {
  return `<!-- turn=${markerValue(turnId)} `;
}

function markerText({ turnId, at, outcome, users, origins }: Episode): string {
  const ids = [...new Set(users.map((user) => markerValue(user.id)))].join(",");
  const from = encodeOrigins(distinctOrigins(origins));
  return `${markerStart(turnId)}at=${new Date(at).toISOString()} outcome=${outcome} users=${ids} from=${from} -->`;
}

/** Reads the origins from the marker in the first lines. People wrote entries without a marker, so these have none. */
export function originsOfEntry(text: string): Origin[] {
  const found = /^\s*<!-- turn=\S* at=\S* outcome=\S* users=(\S*?)(?: from=(\S*))? -->(?:\n|$)/.exec(text);
  const [, users = "", from] = found ?? [];
  if (from !== undefined) return decodeOrigins(from);
  // Earlier versions recorded who spoke, but not what was read.
  return users === ""
    ? []
    : users.split(",").map((id) => ({ kind: "person", name: "somebody", personId: decoded(id) }));
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** Finds the marker: a separate line right after the headline, before any quoted text. */
function markerOf(raw: string): EntryMarker | undefined {
  const found = /^## [^\n]*\n\s*<!-- turn=(\S*) at=(\S*) outcome=(\S*) users=(\S*?)(?: from=\S*)? -->\n/.exec(raw);
  if (found === null) return undefined;
  const [turnId = "", at = "", outcome = "", users = ""] = found.slice(1);
  try {
    const userIds = users.split(",").map(decodeURIComponent);
    return { turnId: decodeURIComponent(turnId), at, outcome, userIds };
  } catch {
    return undefined;
  }
}
