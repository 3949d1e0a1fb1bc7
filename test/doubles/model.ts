/**
 * A model service on 127.0.0.1 with Anthropic's, both of OpenAI's and Ollama's protocols. aimock answers, and a small proxy in
 * front of it injects faults on request: refusals, broken connections, silence, invalid data.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { LLMock } from "@copilotkit/aimock";
import { modelCheckText } from "./model-check.ts";
import { refusalStream, type ScriptedRefusal } from "./model-refusals.ts";
import { type InstalledModel, ollamaPage } from "./model-rules/ollama.ts";
import { changedBody, completeAnswer, pathnameOf, type Refusal, refusalOf } from "./model-rules/rule.ts";
import { type ModelService, rulesOfServices, serviceOfPath, shapedAnswer } from "./model-rules/services.ts";

/** A frame is one event of the stream: an SSE block, or a line of JSON. */
export type FrameTest = (frame: string, index: number) => boolean;

/**
 * A fault for the next request: a custom response, an answer that the model declines to give, a dropped connection, or the
 * real response up to a frame, where the connection breaks, closes cleanly, goes silent, or first sends another frame.
 */
export type Fault =
  | ({ type: "decline" } & ScriptedRefusal)
  | { type: "answer"; status: number; headers?: Record<string, string>; body?: string }
  | { type: "reset" }
  | { type: "silence" }
  /** Not even the headers come before. */
  | { type: "late"; ms: number }
  | { type: "break" | "finish" | "stall"; before: FrameTest }
  | { type: "insert"; before: FrameTest; frame: string }
  /** `saying`: a frame that is sent before the pause. */
  | { type: "delay"; before: FrameTest; ms: number; saying?: string };

interface ModelRequestSeen {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
}

export interface ModelDouble {
  /** Where scripted answers are added. */
  mock: LLMock;
  /** For `ANTHROPIC_BASE_URL` and `OLLAMA_HOST`; with `/v1` for `OPENAI_BASE_URL`. */
  url: string;
  /** Requests for answers. */
  requests: ModelRequestSeen[];
  /** From now on the models see no pictures: Ollama says so if asked, the others refuse, each in its own words. */
  blind(): void;
  /** From now on every request gets 401, or none again. */
  refuseKey(isRefused?: boolean): void;
  /** From now on every request gets this answer, also those that only check, or none again. */
  refuseAll(answer?: Refusal): void;
  /** Faults are used in order, one per request that the service does not refuse. Calls that only check whether the model answers are not counted. */
  failNext(...faults: Fault[]): void;
  /** Requests whose connection the client has closed before the answer was complete. */
  abandoned(): number;
  stop(): Promise<void>;
}

export interface ModelDoubleOptions {
  /** Treats calls that only check whether the model answers like all others. */
  countsChecks?: boolean;
  /** US dollars that each answer's usage says it has cost, as OpenRouter's does. */
  cost?: number;
  /** The service whose rules apply, at its own paths only. By default, the one that the request's path belongs to. */
  service?: ModelService;
  /** What a local server has, the newest first. By default, every model that a request names. */
  installed?: readonly InstalledModel[];
  /** False: the local server is a version whose list does not say what models can do. */
  listsCapabilities?: boolean;
  /** Of a llama-server: `total_slots` of `GET /props` (tools/server/README.md of llama.cpp). By default, it is another server. */
  slots?: number;
}

export async function startModelDouble({
  countsChecks = false,
  cost,
  service,
  installed,
  listsCapabilities = true,
  slots,
}: ModelDoubleOptions = {}): Promise<ModelDouble> {
  const mock = await LLMock.create({ port: 0, logLevel: "silent" });
  const faults: Fault[] = [];
  const requests: ModelRequestSeen[] = [];
  const answers: string[] = [];
  const asked: Record<string, unknown>[] = [];
  const sockets = new Set<Socket>();
  let abandoned = 0;
  let isBlind = false;
  let refusal: Refusal | undefined;
  mock.onMessage(modelCheckText, { content: "ok" });
  const server = createServer((request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) abandoned += 1;
    });
    const state = {
      ...{ faults, requests, answers, asked, isBlind, refusal, countsChecks, cost, service },
      ...{ installed, listsCapabilities, slots },
    };
    serve(mock.url, request, response, state).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const port = await listen(server);
  return {
    mock,
    url: `http://127.0.0.1:${port}`,
    requests,
    blind() {
      isBlind = true;
    },
    refuseKey(isRefused = true) {
      refusal = isRefused ? wrongKey : undefined;
    },
    refuseAll(answer) {
      refusal = answer;
    },
    failNext: (...next) => faults.push(...next),
    abandoned: () => abandoned,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await mock.stop();
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

interface State {
  faults: Fault[];
  requests: ModelRequestSeen[];
  answers: string[];
  asked: Record<string, unknown>[];
  isBlind: boolean;
  refusal: Refusal | undefined;
  countsChecks: boolean;
  cost: number | undefined;
  service: ModelService | undefined;
  installed: readonly InstalledModel[] | undefined;
  listsCapabilities: boolean;
  slots: number | undefined;
}

async function serve(
  upstream: string,
  request: IncomingMessage,
  response: ServerResponse,
  state: State,
): Promise<void> {
  const { faults, requests, answers, asked, isBlind, refusal: refusesAll, countsChecks, cost } = state;
  const { installed, listsCapabilities } = state;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const path = request.url ?? "/";
  const service = state.service ?? serviceOfPath(path);
  const body: Record<string, unknown> = text === "" ? {} : JSON.parse(text);
  const call = { path, headers: request.headers, body, answers, asked, installed };
  const page = ollamaPage(call, listsCapabilities);
  if (page !== undefined) {
    const shown = JSON.stringify(page.body, (key, value) =>
      key === "capabilities" && value && isBlind ? value.filter((one: string) => one !== "vision") : value,
    );
    response.writeHead(page.status, { "content-type": "application/json" }).end(shown);
    return;
  }
  if (path === "/props" && state.slots !== undefined) {
    const props = JSON.stringify({ total_slots: state.slots, chat_template: "", is_sleeping: false });
    response.writeHead(200, { "content-type": "application/json" }).end(props);
    return;
  }
  if (refusesAll !== undefined) return refuse(response, refusesAll);
  const isCounted = request.method === "POST" && (countsChecks || !text.includes(modelCheckText));
  if (isCounted) requests.push({ path, headers: request.headers, body: call.body });
  const fault = isCounted ? faults.shift() : undefined;
  const remember = (answer: string) => {
    answers.push(answer);
    asked.push(body);
  };
  if (fault?.type === "silence") return;
  if (fault?.type === "late") await new Promise((resolve) => setTimeout(resolve, fault.ms));
  if (fault?.type === "reset") {
    request.socket.resetAndDestroy();
    return;
  }
  if (fault?.type === "answer") {
    if (fault.status === 200) remember(fault.body ?? "");
    response.writeHead(fault.status, { "content-type": "application/json", ...fault.headers }).end(fault.body ?? "{}");
    return;
  }
  const blindness = isBlind ? pictureRefusal(protocolPath(path), text) : undefined;
  const rules = rulesOfServices[service];
  const refusal = blindness === undefined ? refusalOf(rules, call) : { status: 400, body: blindness };
  if (refusal !== undefined) {
    // The service has not begun to answer.
    if (fault !== undefined) faults.unshift(fault);
    return refuse(response, refusal);
  }
  if (fault?.type === "decline") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    await write(framesOf(refusalStream(protocolPath(path), fault), "\n\n"), "\n\n", response, undefined);
    return;
  }
  const answer = await fetch(upstream + protocolPath(path), {
    method: request.method ?? "GET",
    headers: { "content-type": "application/json", authorization: "Bearer x", "x-api-key": "x" },
    ...(request.method === "POST" ? { body: JSON.stringify(changedBody(rules, call)) } : {}),
  });
  const type = answer.headers.get("content-type") ?? "";
  response.writeHead(answer.status, { "content-type": type });
  response.flushHeaders();
  const separator = type.includes("event-stream") ? "\n\n" : "\n";
  const plain = await answer.text();
  const said = cost === undefined ? plain : plain.replaceAll('"usage":{', `"usage":{"cost":${cost},`);
  const own = framesOf(shapedAnswer(service, call, said), separator);
  const frames = answer.ok ? completeAnswer(rules, call, own) : own;
  remember(frames.join(separator));
  await write(frames, separator, response, fault?.type === "late" ? undefined : fault);
}

/** Services have these protocols below addresses of their own, which their rules know. */
function protocolPath(path: string): string {
  return pathnameOf(path).replace(/^.*\/(?=(?:chat\/completions|responses|messages|models)(?:\/|$))/, "/v1/");
}

const wrongKey: Refusal = {
  status: 401,
  body: {
    type: "error",
    error: { type: "authentication_error", message: "invalid x-api-key", code: "invalid_api_key" },
  },
};

function refuse(response: ServerResponse, { status, headers, body }: Refusal): void {
  const isText = typeof body === "string";
  const type = isText ? (body.startsWith("<") ? "text/html" : "text/plain") : "application/json";
  response.writeHead(status, { "content-type": type, ...headers }).end(isText ? body : JSON.stringify(body));
}

function pictureRefusal(path: string, body: string): object | undefined {
  if (!/"(?:type":"(?:image|image_url|input_image)"|images":\[")/.test(body)) return undefined;
  const type = "invalid_request_error";
  switch (path) {
    case "/v1/messages":
      return {
        type: "error",
        error: { type, message: "messages.0.content.1: this model does not support image input" },
      };
    case "/v1/chat/completions":
      return { error: { type, message: "Invalid content type. image_url is only supported by certain models." } };
    case "/v1/responses":
      return { error: { type, message: "This model does not support image inputs.", param: "input", code: null } };
    default:
      return { error: "this model is missing data required for image input" };
  }
}

function framesOf(text: string, separator: string): string[] {
  return text.split(separator).filter((frame) => frame.trim() !== "");
}

type StreamFault = Exclude<Fault, { type: "answer" | "decline" | "late" | "reset" | "silence" }>;

async function write(
  frames: string[],
  separator: string,
  response: ServerResponse,
  fault: StreamFault | undefined,
): Promise<void> {
  const at = fault === undefined ? -1 : frames.findIndex((frame, index) => fault.before(frame, index));
  if (fault !== undefined && at === -1) throw new Error(`no frame for the fault in: ${frames.join(separator)}`);
  for (const [index, frame] of frames.entries()) {
    if (index === at && fault !== undefined) {
      // What was written so far must have left before the connection does something else.
      await new Promise((resolve) => setImmediate(resolve));
      if (fault.type === "break") {
        response.socket?.destroySoon();
        return;
      }
      if (fault.type === "stall") return;
      if (fault.type === "finish") break;
      if (fault.type === "insert") response.write(fault.frame + separator);
      if (fault.type === "delay" && fault.saying !== undefined) response.write(fault.saying + separator);
      if (fault.type === "delay") await new Promise((resolve) => setTimeout(resolve, fault.ms));
    }
    response.write(frame + separator);
    // Each frame travels alone, as from a model that says one word after the other.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  response.end();
}
