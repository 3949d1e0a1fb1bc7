/**
 * A model whose answer depends only on the request, so a repeated step after a crash is the same step. `call effect_safe abc`
 * in the newest message is answered by that call, and a result by a final text about it. Streams Anthropic's protocol in small
 * pieces.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { requestListener } from "../../doubles/request-listener.ts";

export interface ScriptedModel {
  url: string;
  close(): Promise<void>;
}

const block = z.looseObject({ type: z.string(), text: z.string().optional(), content: z.unknown().optional() });
const request = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) })),
});

export type Answer = (stream: ModelStream, messages: z.infer<typeof request>["messages"]) => void | Promise<void>;

export async function startScriptedModel(answer: Answer = answerNewest): Promise<ScriptedModel> {
  const server = createServer(
    requestListener(async (incoming, response) => {
      const body = request.safeParse(JSON.parse((await text(incoming)) || "{}"));
      if (!body.success) {
        response.writeHead(400).end(z.prettifyError(body.error));
        return;
      }
      await answer(startStream(response), body.data.messages);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerNewest(stream: ModelStream, messages: z.infer<typeof request>["messages"]): void {
  const content = messages.at(-1)?.content ?? "";
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const results = blocks.filter(({ type }) => type === "tool_result");
  const text = blocks.map((each) => each.text ?? "").join("\n");
  const said = text.replace(/<(memory|skills)\b[\s\S]*?<\/\1>/g, "");
  if (results.length > 0) {
    stream.text(`Finished. The tool said: ${JSON.stringify(results[0]?.content)}`);
    stream.end("end_turn");
    return;
  }
  const [, tool, id = ""] = /call (effect_\w+) (\w+)/.exec(said) ?? [];
  if (tool === undefined) {
    stream.text(`Finished. You said ${/plain \w+/.exec(said)?.[0] ?? "something"} to me.`);
    stream.end("end_turn");
    return;
  }
  stream.text("Let me do that for you.");
  stream.call(tool, { id });
  stream.end("tool_use");
}

export type ModelStream = ReturnType<typeof startStream>;

function startStream(response: ServerResponse) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const head = { id: "m", type: "message", role: "assistant", model: "scripted", content: [] };
  send("message_start", { message: { ...head, stop_reason: null, stop_sequence: null, usage } });
  let index = 0;
  const inBlock = (start: object, deltas: object[]) => {
    send("content_block_start", { index, content_block: start });
    for (const delta of deltas) send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
    index++;
  };
  return {
    text(whole: string) {
      const pieces = whole.match(/\S+\s*/g) ?? [];
      inBlock(
        { type: "text", text: "" },
        pieces.map((piece) => ({ type: "text_delta", text: piece })),
      );
    },
    call(name: string, input: object) {
      const json = JSON.stringify(input);
      const halves = [json.slice(0, 4), json.slice(4)];
      inBlock(
        { type: "tool_use", id: `toolu_${index}`, name, input: {} },
        halves.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      );
    },
    end(stop_reason: string) {
      send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
      send("message_stop", {});
      response.end();
    },
  };
}
