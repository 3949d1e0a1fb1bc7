/** Writes what a service sends to the wire byte for byte, asks it with the real client library, and checks what the turn gets. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { ModelEvent } from "../../../src/ports/provider.ts";
import type { ToolSpec } from "../../../src/ports/tool.ts";
import { readModel } from "../../../src/response/parse.ts";
import { apis, asking, collect, failureIn, lookUp, patient, textIn } from "../apis.ts";
import type { FieldShape, WireAnswer } from "./shape.ts";

/** A tool without arguments. */
const now: ToolSpec = { ...lookUp, name: "now", parameters: { type: "object", properties: {} } };
export const wireTools = [lookUp, now];

const facts: WireAnswer = {
  headers: { "content-type": "application/json" },
  pieces: ['{"capabilities":["completion","tools"],"models":[]}'],
};

export interface Wire {
  url: string;
  /** The bodies of the requests since `answerWith`. */
  requests(): unknown[];
  answerWith(answers: readonly WireAnswer[]): void;
  ask(shape: FieldShape): Promise<ModelEvent[]>;
  close(): void;
}

export async function startWire(): Promise<Wire> {
  let left: WireAnswer[] = [];
  let bodies: unknown[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    // Ollama is asked for a model's facts first. The rows say what it answers to the message.
    const isFacts = request.url === "/api/show" || request.url === "/api/tags";
    if (!isFacts) bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    await write(isFacts ? facts : left.shift(), response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answerWith = (answers: readonly WireAnswer[]) => {
    left = [...answers];
    bodies = [];
  };
  return {
    url,
    requests: () => bodies,
    answerWith,
    async ask(shape) {
      answerWith(shape.answers);
      const provider = apiOf(shape.api).create(url, { ...patient, ...shape.timeouts });
      return await collect(provider, asking("hello", { tools: wireTools, ...shape.request }));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export function apiOf(name: FieldShape["api"]) {
  const api = apis.find((one) => one.name === name);
  if (api === undefined) throw new Error(`no API ${name}`);
  return api;
}

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

/** The calls as the turn gets them: the input of each that may run, or what the model is told instead. */
export async function callsOf(events: ModelEvent[], earlierIds: string[] = []): Promise<(object | string)[]> {
  const listed = (async function* () {
    yield* events;
  })();
  const read = await readModel(listed, wireTools, new Set(earlierIds), { onText() {} });
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

export async function checkShape({ outcome, earlierIds }: FieldShape, events: ModelEvent[]): Promise<void> {
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
