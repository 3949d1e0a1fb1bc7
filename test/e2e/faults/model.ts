/**
 * The campaign's language: `do plain m1`, `do effect_ask m2`. Several messages may be one request. The answer names every
 * id that it answers, so each answer can be counted. It depends only on the request.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Answer } from "../chaos/scripted-model.ts";

export const tools = [
  ...["plain", "plain", "plain", "effect_ask", "effect_ask", "effect_safe"],
  ...["effect_again", "effect_question", "effect_file"],
] as const;

const requestPattern = /do (plain|effect_\w+) (m\d+x)/g;
const answerPattern = /Finished ((?:m\d+x ?)+)/g;
const pieceMs = 15;

export const answerTasks: Answer = async (stream, messages) => {
  const last = messages.findLastIndex(
    ({ role, content }) => role === "user" && [...textOf(content).matchAll(requestPattern)].length > 0,
  );
  const asked = [...textOf(messages[last]?.content ?? "").matchAll(requestPattern)];
  const ids = asked.map(([, , id]) => id).join(" ");
  const calls = asked.filter(([, tool]) => tool !== "plain");
  const hasResults = messages
    .slice(last)
    .some(({ content }) => typeof content !== "string" && content.some(({ type }) => type === "tool_result"));
  if (calls.length > 0 && !hasResults) {
    stream.text(`Working on ${ids} for you.`);
    for (const [, tool = "", id] of calls) stream.call(tool, { id });
    stream.end("tool_use");
    return;
  }
  await wait(pieceMs);
  stream.text(`Finished ${ids} . That is all there is to say about it.`);
  stream.end("end_turn");
};

export function answeredIds(text: string): string[] {
  const found = [...text.matchAll(answerPattern)].flatMap(([, ids = ""]) => ids.trim().split(" "));
  return [...new Set(found)];
}

function textOf(content: string | readonly { text?: string | undefined }[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");
}
