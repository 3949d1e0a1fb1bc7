/**
 * How Claude gives what it says between tool calls: from Sonnet 5.5, Opus 5.5 and Fable 5.1 on as a thinking block, which is
 * empty unless `display` or `between_tools` asks for its text.
 * https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5, read 2026-11-27.
 */
import { answeredBlocks, type Frame, framesIn, messagesIn } from "./claude-messages.ts";
import { isSince } from "./claude-models.ts";
import type { ModelCall } from "./rule.ts";

export function shapeClaudeAnswer({ body, answers }: ModelCall, answer: string): string {
  const isAfterResult =
    messagesIn(body)
      .at(-1)
      ?.blocks.some(({ type }) => type === "tool_result") === true;
  const hides = isSince(body.model, { sonnet: 505, opus: 505, fable: 501, mythos: 501 });
  const blocks = answeredBlocks(answer);
  if (!isAfterResult || !hides || blocks.at(-1)?.type !== "tool_use") return answer;
  const { type, display } = Object(body.thinking);
  const isShown = type === "between_tools" || display === "updates" || display === "summarized";
  const texts = new Set(blocks.flatMap(({ type: kind }, index) => (kind === "text" ? [index] : [])));
  return framesIn(answer)
    .flatMap((frame): Frame[] => {
      if (!texts.has(Number(frame.index))) return [frame];
      const { index } = frame;
      if (frame.type === "content_block_start")
        return [{ ...frame, content_block: { type: "thinking", thinking: "", signature: "" } }];
      const { text = "" } = Object(frame.delta);
      if (frame.type === "content_block_delta")
        return isShown ? [{ ...frame, delta: { type: "thinking_delta", thinking: text } }] : [];
      const signature = Buffer.from(`note ${answers.length}`).toString("base64");
      return [{ type: "content_block_delta", index, delta: { type: "signature_delta", signature } }, frame];
    })
    .map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`)
    .join("");
}
