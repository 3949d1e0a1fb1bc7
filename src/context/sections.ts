/** Renders the sections of the system prompt. Empty sections are left out. */

import { machineTimeZone } from "../lib/time-zones.ts";
import type { SkillBrief } from "../ports/context.ts";
import type { MemoryHit } from "../ports/memory.ts";
import type { ShownContext, ShownPiece } from "../ports/shown-context.ts";
import type { TurnRecord } from "../ports/turn.ts";
import type { BrainFile } from "./brain-files.ts";
import { cutToTokens } from "./cut.ts";
import { attributeText, escapeFences, type FenceTag, fence } from "./fence.ts";
import { timeText } from "./heard.ts";
import { estimateTokens } from "./tokens.ts";

const minTokens = 80;
const shortDescription = 80;

/** Selects files in order; each may use the tokens that the previous ones have not used. */
export function fitFiles(files: readonly BrainFile[], limit: number): { kept: BrainFile[]; leftOut: BrainFile[] } {
  const kept: BrainFile[] = [];
  const leftOut: BrainFile[] = [];
  let left = limit;
  for (const file of files) {
    const tokens = estimateTokens(file.text);
    if (left < Math.min(tokens, minTokens)) {
      leftOut.push(file);
      continue;
    }
    const text = cutToTokens(file.text, left, `all of it is in ${file.path}`);
    kept.push({ ...file, text });
    left -= estimateTokens(text);
  }
  return { kept, leftOut };
}

export function renderFiles(tag: Extract<FenceTag, "identity" | "procedures">, files: readonly BrainFile[]): string {
  return files.length === 0 ? "" : fence(tag, {}, files.map((file) => file.text).join("\n\n"));
}

export function renderIndex(briefs: readonly SkillBrief[], limit: number): string {
  if (briefs.length === 0) return "";
  const head = ["## Available skills"];
  for (const line of [whole, short, nameOnly]) {
    const lines = briefs.map(line).join("\n");
    if (estimateTokens(lines) <= limit) return [...head, lines].join("\n");
  }
  return [...head, ...firstLines(briefs, limit)].join("\n");
}

function whole(brief: SkillBrief): string {
  return `- **${attributeText(brief.name)}** — ${escapeFences(brief.description.replace(/\s+/g, " "))}`;
}

function short(brief: SkillBrief): string {
  const line = brief.description.replace(/\s+/g, " ");
  const description = line.length <= shortDescription ? line : `${line.slice(0, shortDescription - 1).toWellFormed()}…`;
  return whole({ ...brief, description });
}

function nameOnly(brief: SkillBrief): string {
  return `- **${attributeText(brief.name)}**`;
}

function firstLines(briefs: readonly SkillBrief[], limit: number): string[] {
  const kept: string[] = [];
  let left = limit;
  for (const line of briefs.map(nameOnly)) {
    left -= estimateTokens(line) + 1;
    if (left < 0) break;
    kept.push(line);
  }
  return [...kept, `- … and ${briefs.length - kept.length} more`];
}

export function renderHit(hit: MemoryHit, limit: number): string {
  const { path, heading, at } = hit;
  const text = cutToTokens(hit.text, limit, `the rest is in ${path}`);
  return fence("memory_note", { path, heading, at: at === "" ? undefined : timeText(Date.parse(at)) }, text);
}

export function renderPreferences(digest: string): string {
  return fence("preferences", {}, digest);
}

/** `parts` must already be fenced. `withheld` counts passages that the model sees only if it calls `recall`. */
function renderMemory(parts: readonly string[], withheld = 0): string {
  const hint =
    withheld === 0
      ? []
      : [
          `${withheld} more ${withheld === 1 ? "passage contains" : "passages contain"} text from web pages, tools or attachments. Call recall if you need ${withheld === 1 ? "it" : "them"}.`,
        ];
  if (parts.length === 0 && withheld === 0) return "";
  const head = parts.length === 0 ? [] : ["From earlier conversations and documents; may be out of date."];
  return ["<memory>", ...head, ...parts, ...hint, "</memory>"].join("\n");
}

export function renderSkillBody(brief: SkillBrief, limit: number): string {
  const text = cutToTokens(brief.body.trim(), limit, `load_skill ${brief.name} reads all of it`);
  return fence("skill_body", { name: brief.name }, text);
}

export function skillBodyIn(text: string): string | undefined {
  return /<skill_body [^>]*>\n([\s\S]+?)\n<\/skill_body>/.exec(text)?.[1];
}

function renderSkills(bodies: readonly string[]): string {
  return bodies.length === 0 ? "" : ["<skills>", ...bodies, "</skills>"].join("\n");
}

export function renderShown({ pieces, withheld }: ShownContext): string {
  const textsOf = (isWanted: (kind: ShownPiece["kind"]) => boolean) =>
    pieces.filter(({ kind }) => isWanted(kind)).map(({ text }) => text);
  const memory = renderMemory(
    textsOf((kind) => kind !== "skill"),
    withheld,
  );
  return [memory, renderSkills(textsOf((kind) => kind === "skill"))].filter((part) => part !== "").join("\n\n");
}

export interface RuntimeClock {
  /** The local time where the person is, or here. */
  describe(at: number, timeZone?: string): string;
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Looks up the machine's time zone, and those of people, only once. */
export function createRuntimeClock(): RuntimeClock {
  const here = machineTimeZone();
  const formats = new Map<string, Intl.DateTimeFormat>();
  const twoDigits = (value: number) => String(value).padStart(2, "0");

  function timeIn(timeZone: string, at: number): string {
    const parts = { weekday: "long", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone } as const;
    const format = formats.get(timeZone) ?? new Intl.DateTimeFormat("en-GB", parts);
    formats.set(timeZone, format);
    return format.format(at).replace(",", "");
  }

  return {
    describe(at, timeZone = here) {
      if (timeZone !== here) return `for them ${timeIn(timeZone, at)} ${timeZone}`;
      const date = new Date(at);
      const time = `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
      return `here ${weekdays[date.getDay()]} ${time} ${here}`;
    },
  };
}

const lookingAtAdvice =
  'They did not write that. Only if they mean it, as by "this channel", use it, and say "you are looking at #name".';

interface Speaking {
  author: string;
  authorId: string;
  isBot: boolean;
  timeZone?: string;
  at: number;
  isEdited?: true;
}

/** When and by whom the words behind it were said. */
export function renderRuntime(
  { author, authorId, isBot, timeZone, at: saidAt, isEdited }: Speaking,
  contexts: readonly ShownContext[],
  clock: RuntimeClock,
): string {
  const at = contexts.at(-1)?.at ?? saidAt;
  const lookingAt = contexts.find((one) => one.lookingAt !== undefined)?.lookingAt;
  const lines = [
    `time: ${timeText(at)} (${clock.describe(at, timeZone)})`,
    `speaking to you: ${attributeText(author)} (${attributeText(authorId)}${isBot ? ", a bot" : ""})`,
    ...(lookingAt === undefined ? [] : [`they are looking at: ${attributeText(lookingAt)}. ${lookingAtAdvice}`]),
    ...contexts.flatMap(({ notes }) => notes).map(noteLine),
    ...(isEdited === true ? [noteLine("They edited their words below after you had read them.")] : []),
  ];
  return fence("runtime", {}, lines.join("\n"));
}

/** Stands once, before everything that was said. */
export function renderPlace({ conversationId, target, messages }: TurnRecord): string {
  const privacy = messages.at(-1)?.isDirect ? "direct message, private" : "channel, others can read it";
  const line = `conversation: ${attributeText(conversationId)} on ${attributeText(target.platform)} (${privacy})`;
  return fence("runtime", {}, line);
}

export function renderNotes(notes: readonly string[]): string {
  return notes.length === 0 ? "" : fence("runtime", {}, notes.map(noteLine).join("\n"));
}

function noteLine(note: string): string {
  return `note: ${note}`;
}
