/**
 * Notices an answer that only says what the model is going to do: "I need to read notes.txt. Let's proceed." Small models often stop
 * there, large ones sometimes. It is asked once more, and people don't read the announcement as an answer.
 *
 *   names a tool   that nobody has named to it
 *   or ends in     what it intends, in English
 *
 * Whatever else it says is its answer, and what it says after a call, except of `load_skill`: it may tell the person what to do next.
 */
import type { ToolSpec } from "../../ports/tool.ts";
import { loadSkillName } from "../../ports/tool-offer.ts";
import { callsOf, type TurnRecord } from "../../ports/turn.ts";

/** In characters. Longer answers have more in them than an announcement. */
const maxLength = 1_500;

const intention =
  /(?:^|[.!:,;\n])\s*(?:(?:first|next|now|so|then|okay|sure|alright),? )?(?:i(?:['’]ll| will| need to| have to|['’]m going to| am going to)|let me|let['’]s) (?:(?:first|now|then|go ahead and|start by) )?(?:read|look|search|check|load|open|run|find|proceed|use|start|follow|create|write|edit|list|query|fetch|call|save|set|schedule|replace|change|examine|inspect)(?:ing)?\b(?:[^.!?\n]|\.(?=\S))*[.:…!]*\s*$/i;

export function isAnnouncement(text: string, turn: TurnRecord, tools: readonly ToolSpec[]): boolean {
  const said = text.trim();
  if (said === "" || said.length > maxLength || turn.steps.some((step) => step.isAnnouncement)) return false;
  if (callsOf(turn).some(({ raw }) => raw.name !== loadSkillName)) return false;
  const asked = turn.messages.map((message) => message.text).join("\n");
  // A name of one word, such as recall, is also a word.
  const isNamed = ({ name }: ToolSpec) => name.includes("_") && !asked.includes(name) && said.includes(name);
  return tools.some(isNamed) || intention.test(said);
}
