/**
 * Notices an answer that only says what the model is going to do: "I need to read notes.txt. Let's proceed." Small models often stop
 * there, large ones sometimes. It is asked once more, and people don't read the announcement as an answer.
 *
 *   names a tool   that it has not called in this turn, and that nobody has named to it
 *   or ends in     what it intends, in English, if it has called nothing yet
 *
 * Whatever else it says is its answer.
 */
import type { ToolSpec } from "../../ports/tool.ts";
import { callsOf, type TurnRecord } from "../../ports/turn.ts";

/** In characters. Longer answers have more in them than an announcement. */
const maxLength = 1_500;

const intention =
  /(?:^|[.!:,;\n])\s*(?:(?:first|next|now|so|then|okay|sure|alright),? )?(?:i(?:['’]ll| will| need to| have to|['’]m going to| am going to)|let me|let['’]s) (?:(?:first|now|then|go ahead and|start by) )?(?:read|look|search|check|load|open|run|find|proceed|use|start|follow|create|write|edit|list|query|fetch|call|save|set|schedule|replace|change|examine|inspect)(?:ing)?\b(?:[^.!?\n]|\.(?=\S))*[.:…!]*\s*$/i;

export function isAnnouncement(text: string, turn: TurnRecord, tools: readonly ToolSpec[]): boolean {
  const said = text.trim();
  if (said === "" || said.length > maxLength || turn.steps.some((step) => step.isAnnouncement)) return false;
  const called = new Set(callsOf(turn).map(({ raw }) => raw.name));
  const asked = turn.messages.map((message) => message.text).join("\n");
  // A name of one word, such as recall, is also a word.
  const isNamed = ({ name }: ToolSpec) =>
    name.includes("_") && !called.has(name) && !asked.includes(name) && said.includes(name);
  return tools.some(isNamed) || (called.size === 0 && intention.test(said));
}
