/**
 * A model that requests the calls of a batch: `batch 7` in the newest message becomes the calls of its steps, one step per
 * request, and then an answer. It keeps the results, and every request is searched for secrets. Streams Anthropic's protocol.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { requestListener } from "../../doubles/request-listener.ts";
import type { ShellCall } from "./commands/generate.ts";

export interface OracleModel {
  url: string;
  /** Registers a batch, and returns its number. */
  add(steps: readonly (readonly ShellCall[])[]): number;
  /** The result of a call that the model received; undefined: none yet. */
  resultOf(callId: string): string | undefined;
  /** Excerpts of requests that contained the secret. */
  leaks: string[];
  close(): Promise<void>;
}

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  content: z.unknown().optional(),
});
const request = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) })),
});
type Messages = z.infer<typeof request>["messages"];

export function callIdOf(batch: number, step: number, index: number): string {
  return `toolu_b${batch}_s${step}_c${index}`;
}

export function doneText(batch: number): string {
  return `Batch ${batch} is done.`;
}

export async function startOracleModel(secret: string): Promise<OracleModel> {
  const batches: (readonly (readonly ShellCall[])[])[] = [];
  const results = new Map<string, string>();
  const leaks: string[] = [];

  const answer = (response: ServerResponse, messages: Messages) => {
    const at = messages.findLastIndex((message) => /\bbatch \d+\b/.test(saidIn(message)));
    const batch = Number(/\bbatch (\d+)\b/.exec(saidIn(messages[at]))?.[1] ?? -1);
    // By their places, because the agent numbers calls anew.
    const steps = messages.slice(at).flatMap(({ content }) => {
      const found = typeof content === "string" ? [] : content.filter(({ type }) => type === "tool_result");
      return found.length === 0 ? [] : [found];
    });
    for (const [step, found] of steps.entries())
      for (const [index, { content }] of found.entries())
        results.set(callIdOf(batch, step, index), resultText(content));
    sendAnswer(response, batch, steps.length, batches[batch]?.[steps.length] ?? []);
  };

  const server = createServer(
    requestListener(async (incoming, response) => {
      const sent = await text(incoming);
      const at = sent.indexOf(secret);
      if (at >= 0) leaks.push(sent.slice(Math.max(0, at - 300), at + 100));
      const body = request.safeParse(JSON.parse(sent || "{}"));
      if (body.success) answer(response, body.data.messages);
      else response.writeHead(400).end(z.prettifyError(body.error));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (steps) => batches.push(steps) - 1,
    resultOf: (callId) => results.get(callId),
    leaks,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A person's words come last in their message, behind notes of what they said before. */
function saidIn(message: Messages[number] | undefined): string {
  if (message === undefined || message.role !== "user") return "";
  const { content } = message;
  const texts = typeof content === "string" ? [content] : content.map((each) => each.text ?? "");
  return texts.findLast((each) => /\bbatch \d+\b/.test(each)) ?? "";
}

function resultText(content: unknown): string {
  const blocks = z.array(block).safeParse(content);
  return blocks.success ? blocks.data.map((each) => each.text ?? "").join("\n") : String(content);
}

function sendAnswer(response: ServerResponse, batch: number, step: number, calls: readonly ShellCall[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const head = { id: "m", type: "message", role: "assistant", model: "oracle", content: [] };
  send("message_start", { message: { ...head, stop_reason: null, stop_sequence: null, usage } });
  const inBlock = (index: number, start: object, delta: object) => {
    send("content_block_start", { index, content_block: start });
    send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  };
  for (const [index, call] of calls.entries()) {
    const start = { type: "tool_use", id: callIdOf(batch, step, index), name: "shell_exec", input: {} };
    inBlock(index, start, { type: "input_json_delta", partial_json: JSON.stringify(call) });
  }
  if (calls.length === 0) inBlock(0, { type: "text", text: "" }, { type: "text_delta", text: doneText(batch) });
  const stop_reason = calls.length === 0 ? "end_turn" : "tool_use";
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
  send("message_stop", {});
  response.end();
}
