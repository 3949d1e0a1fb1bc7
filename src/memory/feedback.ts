/**
 * Stores feedback in the Markdown file of the day and scope: one line per decision by a person, outcome of a tool
 * call, and turn without tool calls, such as
 * `- 14:03:22 shell_exec: approved by Ann (U1) after 12 s — {"command":"ls"}`. A line that must not be written twice
 * ends in a hidden marker. The digest skips lines that people have edited beyond recognition.
 * Brain name: basal ganglia.
 */
import { createHash } from "node:crypto";
import { toIsoDate } from "../lib/iso-date.ts";
import type { Redact } from "../lib/redact.ts";
import { codeSpan, oneLine } from "../lib/text/sanitize.ts";
import { type Feedback, turnWithoutTools } from "../ports/memory.ts";
import type { DayFiles } from "./day-files.ts";
import { timeOf } from "./places.ts";

const limits = { word: 80, summary: 300, rating: 1_300 };

const plainTurn = `${turnWithoutTools}: `;
const plainTurnAt = 11;

/** The `tool` of lines that say what people think of an answer. */
export const ratedAnswer = "answer";

export interface FeedbackWriter {
  /** Resolves to false if the line already exists. If it rejects (with a RemoraError), nothing has changed. */
  record(feedback: Feedback): Promise<boolean>;
}

export interface FeedbackLine {
  /** `HH:MM:SS` in UTC. */
  time: string;
  tool: string;
  outcome: string;
  by?: { name: string; id: string };
  waitedSeconds?: number;
  summary: string;
}

export function createFeedbackWriter({ days, redact }: { days: DayFiles; redact: Redact }): FeedbackWriter {
  return {
    async record(feedback) {
      const { scope, at } = feedback;
      const line = lineOf(feedback, redact);
      const title = `# ${toIsoDate(at)} (UTC) — ${oneLine(scope, limits.word)}\n\n`;
      const entry = feedback.id === undefined ? {} : { entry: { id: markOf(feedback.id), idsIn: marksIn } };
      let isNew = true;
      const edit = (current: string) => {
        if (feedback.id !== undefined && feedback.replaces !== undefined) {
          const rest = withoutLine(current, markOf(feedback.id));
          isNew = feedback.replaces === "with-this";
          if (!isNew) return rest;
          return `${rest === "" ? title : `${rest.trimEnd()}\n`}${line}\n`;
        }
        isNew = entry.entry === undefined || !hasMark(current, entry.entry.id);
        return isNew ? `${current === "" ? title : `${current.trimEnd()}\n`}${line}\n` : current;
      };
      const addition = feedback.replaces === undefined ? { addition: `\n${line}\n` } : {};
      await days.change({ kind: "feedback", scope, at, ...entry, edit, ...addition });
      return isNew;
    },
  };
}

/** Hashes the id, because approval ids must not appear in these files. */
function markOf(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

function withoutLine(text: string, mark: string): string {
  return text
    .split("\n")
    .filter((line) => !line.endsWith(` <!-- ${mark} -->`))
    .join("\n");
}

function hasMark(text: string, mark: string): boolean {
  return text.includes(mark) && marksIn(text).has(mark);
}

function marksIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(/ <!-- ([0-9a-f]{16}) -->$/gm), ([, mark = ""]) => mark));
}

function lineOf({ id, at, tool, outcome, by, waitedMs, summary }: Feedback, redact: Redact): string {
  const who = by === undefined ? "" : ` by ${plainWord(by.name)} (${plainWord(by.id)})`;
  const waited = waitedMs === undefined ? "" : ` after ${Math.round(waitedMs / 1000)} s`;
  const what = codeSpan(oneLine(redact(summary), tool === ratedAnswer ? limits.rating : limits.summary));
  const mark = id === undefined ? "" : ` <!-- ${markOf(id)} -->`;
  return `- ${timeOf(at)} ${plainWord(tool)}: ${plainWord(outcome)}${who}${waited} — ${what}${mark}`;
}

/** Most lines. Found by their beginning, after `- 14:03:22 `, because to parse a line takes much longer. */
export function isTurnWithoutTools(line: string): boolean {
  return line.startsWith(plainTurn, plainTurnAt);
}

export function parseFeedback(text: string): FeedbackLine[] {
  return text.split(/\r?\n/).flatMap((line) => parseFeedbackLine(line) ?? []);
}

export function parseFeedbackLine(line: string): FeedbackLine | undefined {
  const found =
    /^- (\d\d:\d\d:\d\d) ([^:]{1,200}): ([^()—]{1,200}?)(?: by ([^()—]{0,200}) \(([^()—]{0,200})\))?(?: after (\d{1,12}) s)? — (.*?)(?: <!-- [0-9a-f]{16} -->)?$/u.exec(
      line,
    );
  if (found === null) return undefined;
  const [, time = "", tool = "", outcome = "", name, id, seconds, span = ""] = found;
  const summary = span.replace(/^(`+) ?(.*?) ?\1$/u, "$2");
  const waited = seconds === undefined ? {} : { waitedSeconds: Number(seconds) };
  const line_ = { time, tool, outcome, ...waited, summary };
  return name === undefined || id === undefined ? line_ : { ...line_, by: { name, id } };
}

/** Removes the characters that separate the parts of a line. */
function plainWord(text: string): string {
  return oneLine(text.replace(/[:()—`]/gu, " "), limits.word) || "?";
}
