/**
 * Notices an answer that only says what the model is going to do: "I need to read notes.txt. Let's proceed." Small models often stop
 * there, large ones sometimes. It is asked once more. If it then calls a tool, people don't read the announcement as an answer;
 * otherwise they read both.
 *
 *   says that it, or somebody, uses a tool   by the tool's name, if nobody has named it to the model
 *   or ends in what it intends               in English
 *
 * Questions and offers are answers, and so is what it says after a call, except of `load_skill`: it may tell the person what to do.
 */
import type { ToolSpec } from "../../ports/tool.ts";
import { loadSkillName } from "../../ports/tool-offer.ts";
import { callsOf, type TurnRecord } from "../../ports/turn.ts";

/** In characters. Longer answers have more in them than an announcement. */
const maxLength = 1_500;

const intention =
  /(?:^|[.!:,;\n])\s*(?:(?:first|next|now|so|then|okay|sure|alright),? )?(?:i(?:['’]ll| will| need to| have to|['’]m going to| am going to)|let me|let['’]s) (?:(?:first|now|then|go ahead and|start by) )?(?:read|look|search|check|load|open|run|find|proceed|use|start|follow|create|write|edit|list|query|fetch|call|save|set|schedule|replace|change|examine|inspect)(?:ing)?\b(?:[^.!?\n]|\.(?=\S))*[.:…!]*\s*$/i;

const offer = /[?？]|\b(?:if you|once you|when you|would you|unless you)\b/i;

export function isAnnouncement(text: string, turn: TurnRecord, tools: readonly ToolSpec[]): boolean {
  const said = text.trim();
  if (said.length > maxLength || offer.test(said) || turn.steps.some((step) => step.isAnnouncement)) return false;
  if (callsOf(turn).some(({ raw }) => raw.name !== loadSkillName)) return false;
  if (intention.test(said)) return true;
  const asked = turn.messages.map((message) => message.text).join("\n");
  const used = [
    ...said.matchAll(/\b(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|load(?:ing)?)\s+(?:the\s+|my\s+)?[`'"*]*(\w+_\w+)/gi),
  ];
  return used.some(([, name = ""]) => !asked.includes(name) && tools.some((tool) => tool.name === name));
}
