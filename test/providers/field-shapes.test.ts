/**
 * What model services and gateways really send, as people have reported it, over each protocol, with the real client libraries. The
 * answers are written to the wire byte for byte.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import { readModel } from "../../src/response/parse.ts";
import { apis, asking, collect, failureIn, lookUp, patient, textIn } from "./apis.ts";
import { anthropicStreams } from "./field-shapes/anthropic-streams.ts";
import { chatCalls } from "./field-shapes/chat-calls.ts";
import { chatEnds } from "./field-shapes/chat-ends.ts";
import { chatStreams } from "./field-shapes/chat-streams.ts";
import { chatWire } from "./field-shapes/chat-wire.ts";
import { otherStreams } from "./field-shapes/other-streams.ts";
import { refusals } from "./field-shapes/refusals.ts";
import { refusedAccess } from "./field-shapes/refused-access.ts";
import { refusedRequests } from "./field-shapes/refused-requests.ts";
import type { FieldShape, WireAnswer } from "./field-shapes/shape.ts";

const shapes: FieldShape[] = [
  ...[...chatStreams, ...chatCalls, ...chatWire, ...chatEnds, ...anthropicStreams, ...otherStreams],
  ...[...refusedRequests, ...refusedAccess, ...refusals],
];

/** A tool without arguments. */
const now: ToolSpec = { ...lookUp, name: "now", parameters: { type: "object", properties: {} } };
const tools = [lookUp, now];

const facts: WireAnswer = {
  headers: { "content-type": "application/json" },
  pieces: ['{"capabilities":["completion","tools"],"models":[]}'],
};

let server: Server;
let url: string;
let left: WireAnswer[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    // Ollama is asked for a model's facts first. The rows say what it answers to the message.
    const isFacts = request.url === "/api/show" || request.url === "/api/tags";
    request.on("end", () => void write(isFacts ? facts : left.shift(), response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function write(answer: WireAnswer | undefined, response: ServerResponse): Promise<void> {
  if (answer === undefined) {
    response.writeHead(500).end("the row has no answer for this request");
    return;
  }
  const { status = 200, headers = { "content-type": "text/event-stream; charset=utf-8" }, pieces, ending } = answer;
  response.writeHead(status, headers);
  response.flushHeaders();
  for (const piece of pieces) {
    response.write(piece);
    await wait(1);
  }
  if (ending === "reset") response.socket?.destroySoon();
  else if (ending === "pings") await pings(response);
  else response.end();
}

async function pings(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write('event: ping\ndata: {"type":"ping"}\n\n');
    await wait(50);
  }
}

async function ask(shape: FieldShape): Promise<ModelEvent[]> {
  const api = apis.find(({ name }) => name === shape.api);
  if (api === undefined) throw new Error(`no API ${shape.api}`);
  left = [...shape.answers];
  const provider = api.create(url, { ...patient, ...shape.timeouts });
  return await collect(provider, asking("hello", { tools, ...shape.request }));
}

/** The calls as the turn gets them: the input of each that may run, or what the model is told instead. */
async function callsOf(events: ModelEvent[], earlierIds: string[] = []): Promise<(object | string)[]> {
  const listed = (async function* () {
    yield* events;
  })();
  const read = await readModel(listed, tools, new Set(earlierIds), { onText() {} });
  if (read.type !== "answer") return [];
  expect(earlierIds).not.toContain(read.calls[0]?.raw.id);
  expect(new Set(read.calls.map(({ raw }) => raw.id)).size).toBe(read.calls.length);
  return read.calls.map((parsed) => ("call" in parsed ? parsed.call.input : parsed.problem));
}

function isRefusal(events: ModelEvent[]): boolean {
  const last = events.at(-1);
  return last?.type === "error" && last.error.code === "provider.refused";
}

type Wanted<Type> = Extract<FieldShape["outcome"], { type: Type }>;

async function checkAnswer(wanted: Wanted<"answer">, events: ModelEvent[], earlierIds?: string[]): Promise<void> {
  const last = events.at(-1);
  expect(last, JSON.stringify(last)).toMatchObject({
    type: "end",
    ...(wanted.stop === undefined ? {} : { stop: wanted.stop }),
    ...(wanted.usage === undefined ? {} : { usage: wanted.usage }),
  });
  if (wanted.text !== undefined) expect(textIn(events)).toBe(wanted.text);
  const calls = (wanted.calls ?? []).map((call) => (call instanceof RegExp ? expect.stringMatching(call) : call));
  expect(await callsOf(events, earlierIds)).toEqual(calls);
}

function checkFailure(wanted: Wanted<"failure">, events: ModelEvent[]): void {
  const error = failureIn(events);
  expect(error, error.message).toMatchObject({ code: wanted.code, isRetryable: wanted.isRetryable });
  expect(textIn(events)).toBe(wanted.text ?? "");
  expect(events.filter(({ type }) => type === "tool-call")).toEqual([]);
  // The service's own words may be for owners only.
  if (wanted.says !== undefined) expect(`${error.message} ${error.detail ?? ""}`).toMatch(wanted.says);
  if (wanted.neverSays !== undefined) expect(error.message).not.toMatch(wanted.neverSays);
  // The words of a crash are no reason that helps people.
  expect(error.message).not.toMatch(/Cannot read properties|is not iterable|is not a function/);
  const [least, most] = wanted.retryAfterMs ?? [undefined, undefined];
  if (least !== undefined) expect(error.retryAfterMs).toBeGreaterThanOrEqual(least);
  if (most !== undefined) expect(error.retryAfterMs).toBeLessThanOrEqual(most);
}

async function check({ outcome, earlierIds }: FieldShape, events: ModelEvent[]): Promise<void> {
  switch (outcome.type) {
    case "refusal":
      expect(isRefusal(events), JSON.stringify(events.at(-1))).toBe(true);
      break;
    case "answer":
      await checkAnswer(outcome, events, earlierIds);
      break;
    case "failure":
      checkFailure(outcome, events);
      break;
    default:
      outcome satisfies never;
  }
}

describe.each(apis)("$name", ({ name }) => {
  for (const shape of shapes.filter(({ api }) => api === name)) {
    test(shape.title, async () => {
      await check(shape, await ask(shape));
    });
  }
});

test("every shape names a public page on which it was seen", () => {
  for (const { title, source } of shapes) expect(source, title).toMatch(/^https:\/\/[a-z.]+\/\S+$/);
  const titles = shapes.map(({ api, title }) => `${api}: ${title}`);
  expect(new Set(titles).size).toBe(titles.length);
});
