/** Judges a task by what is true afterwards, not by what the bot says that it did. */
import type { Bot, Effects, Said } from "./bot.ts";
import type { Task } from "./task.ts";

type Expected = Task["expect"];

export interface Finding {
  sentence: string;
  /** Something is missing that only a call of a tool can bring about. */
  needsCall: boolean;
}

/** What is not as expected, in sentences. Empty if the task is solved. */
export function judge(task: Task, said: Said, effects: Effects, bot: Pick<Bot, "hasCards">): string[] {
  return findingsOf(task, said, effects, bot).map(({ sentence }) => sentence);
}

export function findingsOf({ expect }: Task, said: Said, effects: Effects, bot: Pick<Bot, "hasCards">): Finding[] {
  const others = [
    ...(said.state === "failed" ? ["The bot says that it could not answer."] : []),
    ...wrongTexts(expect.answer, expect.notAnswer, [said.text], "The answer"),
    ...unwantedCalls(expect, effects),
    ...wrongCards(expect, effects, bot),
  ];
  const missing = [
    ...wrongFiles(expect, effects),
    ...wrongTexts(expect.memory, expect.notMemory, effects.notes, "A note"),
    ...wrongReminders(expect, effects),
    ...missingCalls(expect, effects),
  ];
  return [
    ...others.map((sentence) => ({ sentence, needsCall: false })),
    ...missing.map((sentence) => ({ sentence, needsCall: true })),
  ];
}

/** Of a task. `^` and `$` are the ends of a line. */
export function patternOf(text: string): RegExp {
  return new RegExp(text, "im");
}

function wrongTexts(
  wanted: readonly string[],
  unwanted: readonly string[],
  texts: readonly string[],
  what: string,
): string[] {
  const has = (pattern: string) => texts.some((text) => patternOf(pattern).test(text));
  const none = what === "A note" ? "No note matches" : `${what} does not match`;
  return [
    ...wanted.filter((pattern) => !has(pattern)).map((pattern) => `${none} “${pattern}”.`),
    ...unwanted.filter(has).map((pattern) => `${what} matches “${pattern}”, and must not.`),
  ];
}

function wrongFiles({ files: wanted }: Expected, { files }: Effects): string[] {
  return Object.entries(wanted).flatMap(([path, pattern]) => {
    const text = Object.hasOwn(files, path) ? files[path] : undefined;
    if (pattern === null) return text === undefined ? [] : [`The file ${path} is there, and must not be.`];
    if (text === undefined) return [`There is no file ${path}.`];
    return patternOf(pattern).test(text) ? [] : [`The file ${path} does not match “${pattern}”.`];
  });
}

function wrongReminders({ reminders: wanted }: Expected, { reminders }: Effects): string[] {
  const all = reminders.map(({ text, at }) => `“${text}” at ${timeOfDay(at)}`).join(", ");
  const found = all === "" ? "There is none." : `There is ${all}.`;
  return wanted.flatMap(({ text, at }) => {
    const fits = reminders.some(
      (one) => patternOf(text).test(one.text) && (at === undefined || timeOfDay(one.at) === at),
    );
    return fits ? [] : [`No reminder matches “${text}”${at === undefined ? "" : ` at ${at}`}. ${found}`];
  });
}

/** In the time zone of this machine, which is also that of reminders. */
function timeOfDay(at: string): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, "0")).join(":");
}

function missingCalls({ tools }: Expected, { calls }: Effects): string[] {
  return tools.flatMap((tool) => {
    const made = calls.filter((call) => call.tool === tool);
    if (made.some(({ status }) => status === "succeeded")) return [];
    const ends = [
      ...new Set(made.map(({ status, problem }) => (problem === undefined ? status : `${status}: ${problem}`))),
    ];
    return [
      made.length === 0 ? `${tool} was not called.` : `${tool} was called, and did not succeed (${ends.join(", ")}).`,
    ];
  });
}

function unwantedCalls({ notTools }: Expected, { calls }: Effects): string[] {
  const ran = (tool: string) =>
    calls.some((call) => call.tool === tool && (call.status === "succeeded" || call.status === "failed"));
  return notTools.filter(ran).map((tool) => `${tool} ran, and must not.`);
}

function wrongCards({ cards: wanted }: Expected, { cards }: Effects, { hasCards }: Pick<Bot, "hasCards">): string[] {
  if (!hasCards || wanted === undefined || wanted === cards) return [];
  return [`There ${cards === 1 ? "was 1 approval card" : `were ${cards} approval cards`}, and ${wanted} should be.`];
}
