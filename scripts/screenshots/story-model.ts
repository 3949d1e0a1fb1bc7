/**
 * A model that plays the team's story: the newest request chooses a scene, and the number of tool results chooses the
 * scene's next step. Streams Anthropic's protocol, with a realistic number of tokens so that the story has costs.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";

export interface Scene {
  /** The request contains these words. */
  when: string;
  steps: { say?: string; calls: { tool: string; input: object }[] }[];
  answer: string;
  /** The answer of a turn in which a call was denied. */
  answerIfDenied?: string;
  thinkMs?: number;
}

export interface StoryModel {
  url: string;
  close(): Promise<void>;
}

const block = z.looseObject({ type: z.string(), text: z.string().optional(), content: z.unknown().optional() });
const body = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) })),
});
const usage = { input_tokens: 6_200, output_tokens: 140 };

export async function startStoryModel(scenes: readonly Scene[]): Promise<StoryModel> {
  const server = createServer(async (request, response) => {
    const sent = body.safeParse(JSON.parse((await text(request)) || "{}"));
    if (!sent.success) return void response.writeHead(400).end("{}");
    await play(scenes, sent.data, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function play(
  scenes: readonly Scene[],
  { messages }: z.infer<typeof body>,
  response: ServerResponse,
): Promise<void> {
  const turns = messages.map(({ role, content }) => ({
    role,
    blocks: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));
  const isResult = ({ type }: z.infer<typeof block>) => type === "tool_result";
  const start = turns.findLastIndex(({ role, blocks }) => role === "user" && !blocks.some(isResult));
  const said = (turns[start]?.blocks ?? []).map((each) => each.text ?? "").join("\n");
  const request = said.replace(/<(earlier|memory|skills)\b[\s\S]*?<\/\1>/g, "");
  const results = turns.slice(start + 1).flatMap(({ blocks }) => blocks.filter(isResult));
  const done = turns.slice(start + 1).filter(({ role }) => role === "assistant").length;
  const scene = scenes.find(({ when }) => request.includes(when));
  if (scene?.thinkMs !== undefined) await wait(scene.thinkMs);
  const step = scene?.steps[done];
  const isDenied = results.some((result) => JSON.stringify(result.content).includes("Not run"));
  const answer = isDenied ? (scene?.answerIfDenied ?? scene?.answer) : scene?.answer;
  stream(response, step === undefined || isDenied ? { say: answer ?? "I can help with that.", calls: [] } : step);
}

function stream(response: ServerResponse, { say, calls }: Scene["steps"][number]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const message = { id: "m", type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [] };
  send("message_start", { message: { ...message, stop_reason: null, stop_sequence: null, usage } });
  let index = 0;
  const add = (start: object, deltas: object[]) => {
    send("content_block_start", { index, content_block: start });
    for (const delta of deltas) send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
    index += 1;
  };
  if (say !== undefined) add({ type: "text", text: "" }, [{ type: "text_delta", text: say }]);
  for (const { tool, input } of calls) {
    const start = { type: "tool_use", id: `toolu_${index}${Date.now()}`, name: tool, input: {} };
    add(start, [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]);
  }
  const reason = calls.length > 0 ? "tool_use" : "end_turn";
  send("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage });
  send("message_stop", {});
  response.end();
}
