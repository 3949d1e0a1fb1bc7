/**
 * A model that follows the newest message: `call TOOL {json} then call TOOL {json}` becomes these tool calls, one per step, or
 * with `20 times` that many in one step. The last tool's result is the answer. With `obeys: "everybody"` it also follows what others
 * said before, which it is only told about. With `orders` it follows every text, also results and descriptions of tools, and
 * answers with all that it was shown. Streams Anthropic's protocol in small pieces.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { modelCheckText } from "./model-check.ts";
import { refuses } from "./model-rules/refuses.ts";
import { requestListener } from "./request-listener.ts";

export interface CallingModel {
  url: string;
  /** The bodies of all requests, in the order they came. */
  requests: string[];
  close(): Promise<void>;
}

/** For a model that follows every text. */
export interface Orders {
  /** The calls that a text asks for, as text. `request`: the turn's message. */
  expand(text: string, request: string): string;
  /** The arguments of a call as they are sent. */
  fill(json: string, request: string, prompt: string): string;
}

const block = z.looseObject({
  ...{ type: z.string(), text: z.string().optional(), content: z.unknown().optional() },
  ...{ id: z.string().optional(), name: z.string().optional(), input: z.unknown().optional() },
});
const request = z.looseObject({
  tools: z.array(z.looseObject({ description: z.string().optional() })).default([]),
  messages: z.array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) })),
});
type Block = z.infer<typeof block>;

export interface PlannedCall {
  id: string;
  tool: string;
  json: string;
}

/** `otherAnswer` answers a request with text or the calls of one step; undefined: the model answers as above. */
export async function startCallingModel(
  otherAnswer: (sent: string) => Promise<string | readonly PlannedCall[] | undefined> = async () => undefined,
  { obeys = "asker", orders }: { obeys?: "asker" | "everybody"; orders?: Orders } = {},
): Promise<CallingModel> {
  const requests: string[] = [];
  const obey = orders === undefined ? undefined : createObedience(orders);
  const server = createServer(
    requestListener(async (incoming, response) => {
      const sent = await text(incoming);
      const body = request.safeParse(JSON.parse(sent || "{}"));
      if (!body.success) {
        response.writeHead(400).end(z.prettifyError(body.error));
        return;
      }
      if (refuses(incoming, sent, response)) return;
      const isCheck = sent.includes(modelCheckText);
      if (!isCheck) requests.push(sent);
      const other = isCheck ? undefined : await otherAnswer(sent);
      if (other !== undefined) answerWith(response, other);
      else if (obey !== undefined) obey(response, body.data, sent);
      else answer(response, body.data, obeys);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The turn's message, and what came after it. */
function turnIn({ messages }: z.infer<typeof request>): { text: string; after: Block[] } {
  const contents = messages.map(({ role, content }) => ({
    role,
    blocks: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));
  const start = contents.findLastIndex(({ role, blocks }) => role === "user" && !blocks.some(isResult));
  const text = (contents[start]?.blocks ?? []).map((each) => each.text ?? "").join("\n");
  return { text, after: contents.slice(start + 1).flatMap(({ blocks }) => blocks) };
}

const callsIn = (said: string) => [...said.matchAll(/\bcall (\w+) (\{.*?\})(?: (\d+) times)?(?= then call |\s*$)/gm)];

/** Makes each call that any text asks for once in a turn, one at a time. */
function createObedience({ expand, fill }: Orders) {
  /** By what it was sent as, because the agent numbers calls anew. */
  const madeAs = new Map<string, string>();
  const sentAs = (tool: string, input: unknown) => `${tool} ${JSON.stringify(input)}`;
  const keyOf = ({ name = "", input }: Block) => {
    const used = z.looseObject({ name: z.string(), input: z.unknown() }).safeParse(input);
    return name === "use_tool" && used.success ? sentAs(used.data.name, used.data.input) : sentAs(name, input);
  };
  return (response: ServerResponse, body: z.infer<typeof request>, prompt: string): void => {
    const { text, after } = turnIn(body);
    const results = after.filter(isResult).map(shown);
    const descriptions = body.tools.map(({ description = "" }) => description);
    const made = new Set(after.filter(({ type }) => type === "tool_use").map((each) => madeAs.get(keyOf(each))));
    const wanted = [text, ...results, ...descriptions].flatMap((each) => callsIn(expand(each, text)));
    const next = wanted.find(([, tool = "", json = ""]) => !made.has(`${tool} ${json}`));
    const stream = startStream(response);
    if (next !== undefined) {
      const [, tool = "", json = ""] = next;
      const filled = fill(json, text, prompt);
      stream.call(tool, filled);
      madeAs.set(sentAs(tool, JSON.parse(filled)), `${tool} ${json}`);
    } else stream.text(`Finished. The tools said:\n\n${results.join("\n\n")}`);
    stream.end(next === undefined ? "end_turn" : "tool_use");
  };
}

/** The number of results after the turn's message is the number of finished steps. */
function answer(response: ServerResponse, body: z.infer<typeof request>, obeys: "asker" | "everybody"): void {
  const { text, after } = turnIn(body);
  const said = obeys === "everybody" ? text : text.replace(/<(earlier|memory|skills)\b[\s\S]*?<\/\1>/g, "");
  const results = after.filter(isResult);
  const steps = callsIn(said);
  const calls = steps.flatMap(([, tool = "", json = "", times = "1"], step) =>
    Array.from({ length: Number(times) }, () => ({ tool, json, step })),
  );
  const next = calls[results.length]?.step;
  const stream = startStream(response);
  if (next !== undefined) {
    for (const { tool, json, step } of calls) if (step === next) stream.call(tool, json);
    stream.end("tool_use");
    return;
  }
  const last = results.at(-1);
  stream.text(
    last === undefined ? "Finished. There was nothing to call." : `Finished. The tool said:\n\n${shown(last)}`,
  );
  stream.end("end_turn");
}

function answerWith(response: ServerResponse, answer: string | readonly PlannedCall[]): void {
  const stream = startStream(response);
  if (typeof answer === "string") stream.text(answer);
  else for (const { id, tool, json } of answer) stream.call(tool, json, id);
  stream.end(typeof answer === "string" ? "end_turn" : "tool_use");
}

function isResult({ type }: Block): boolean {
  return type === "tool_result";
}

function shown({ content }: Block): string {
  const blocks = z.array(block).safeParse(content);
  return blocks.success ? blocks.data.map((each) => each.text ?? `[${each.type}]`).join("\n") : String(content);
}

function startStream(response: ServerResponse) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const head = { id: "m", type: "message", role: "assistant", model: "calling", content: [] };
  send("message_start", { message: { ...head, stop_reason: null, stop_sequence: null, usage } });
  let index = 0;
  const inBlock = (start: object, deltas: object[]) => {
    send("content_block_start", { index, content_block: start });
    for (const delta of deltas) send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
    index += 1;
  };
  return {
    text(whole: string) {
      const pieces = whole.match(/\s*\S+\s*/g) ?? [];
      inBlock(
        { type: "text", text: "" },
        pieces.map((piece) => ({ type: "text_delta", text: piece })),
      );
    },
    call(name: string, json: string, id = `toolu_${Math.random().toString(36).slice(2)}`) {
      const halves = [json.slice(0, 4), json.slice(4)];
      inBlock(
        { type: "tool_use", id, name, input: {} },
        halves.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      );
      return id;
    },
    end(stop_reason: string) {
      send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
      send("message_stop", {});
      response.end();
    },
  };
}
