/** Rates the relevance of skills by finding their triggers as complete words in people's messages, in any script. */
import type { SkillBrief } from "../ports/context.ts";

export interface TriggeredSkill {
  brief: SkillBrief;
  /**
   * Words in matched triggers, plus a bonus for repeats. `alwaysScore` for `*` and for skills that people name. Below 1
   * for skills with tools, so that they come after all others.
   */
  score: number;
}

export const alwaysScore = 1_000;

const maxReadCharacters = 20_000;
const maxRepetitions = 3;

/** Letters, digits and marks form a word, except in scripts without spaces. */
const wordCharacter = /[\p{L}\p{N}\p{M}_]/u;
const unspacedCharacter =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Returns the skills whose body belongs in the prompt: those that a person named and `*` skills, then triggered skills
 * without tools, then those with tools, each best first.
 */
export function triggeredSkills(
  briefs: readonly SkillBrief[],
  said: string,
  asked: readonly string[] = [],
): TriggeredSkill[] {
  const text = fold(
    said.length <= maxReadCharacters
      ? said
      : `${said.slice(0, maxReadCharacters / 2)}\n${said.slice(-maxReadCharacters / 2)}`,
  );
  return briefs
    .filter((brief) => brief.body.trim() !== "")
    .map((brief) => ({ brief, score: asked.includes(brief.name) ? alwaysScore : scoreOf(brief, text) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || (one.brief.name < other.brief.name ? -1 : 1));
}

function scoreOf(brief: SkillBrief, text: string): number {
  if (!brief.isCapability && brief.triggers.includes("*")) return alwaysScore;
  let score = 0;
  for (const trigger of new Set(brief.triggers.map((word) => fold(word).trim()))) {
    const occurrences = trigger === "" ? 0 : countWords(text, trigger);
    if (occurrences === 0) continue;
    const words = trigger.split(" ").length;
    score += words + Math.min(occurrences - 1, maxRepetitions) / 10;
  }
  const capped = Math.min(score, alwaysScore - 1);
  return brief.isCapability ? capped / alwaysScore : capped;
}

function countWords(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at !== -1 && count <= maxRepetitions; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    const isWhole =
      isBoundary(before(text, at), after(word, 0)) && isBoundary(before(word, word.length), after(text, end));
    if (isWhole) count += 1;
  }
  return count;
}

function isBoundary(left: string, right: string): boolean {
  if (!wordCharacter.test(left) || !wordCharacter.test(right)) return true;
  return unspacedCharacter.test(left) || unspacedCharacter.test(right);
}

function before(text: string, index: number): string {
  const low = text.charCodeAt(index - 1);
  const start = low >= 0xdc00 && low <= 0xdfff ? index - 2 : index - 1;
  return text.slice(Math.max(0, start), index);
}

function after(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? "" : String.fromCodePoint(code);
}

/** Normalises white space, because the words of a trigger may be on two lines or separated by several spaces. */
function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ");
}
