/** One session with an MCP server: opens the connection, lists tools, and sends calls. */
import {
  type CallToolResult,
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Transport,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { codeOf, messageOf } from "../../src/plugin-sdk/errors.ts";
import type { JsonObject } from "../../src/plugin-sdk/plugin.ts";

/** As listed by the server. Any part may be missing or of any type. */
export interface ListedTool {
  name: string;
  description: unknown;
  inputSchema: unknown;
  annotations?: unknown;
}

export type CallOutcome =
  | { type: "answered"; result: CallToolResult }
  | { type: "refused"; message: string }
  /** The call can't have reached the server, so it may be repeated. */
  | { type: "unsent"; message: string; isBusy?: boolean }
  /** It is unknown whether the server ran the call. */
  | { type: "unknown"; message: string };

export interface Session {
  /** `nameless` counts the tools without a name, which are omitted. */
  list(signal: AbortSignal): Promise<{ tools: ListedTool[]; nameless: number; isCut: boolean }>;
  call(tool: ListedTool, input: JsonObject, timeoutMs: number, signal: AbortSignal): Promise<CallOutcome>;
  /** Resolves with the reason when the connection is lost or closed. */
  lost: Promise<string>;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Tried in this order. Later transports serve servers that don't support the earlier ones. */
  transports: (() => Transport)[];
  connectMs: number;
  onChanged(): void;
  onError(message: string): void;
}

const clientVersion = "1.0.0";
/** Some programs never answer unknown requests, such as the request for the version. */
const versionMs = 3_000;
const listMs = 30_000;
const maxDetailLength = 200;
/** After these errors the transport keeps running but has lost data, so the session must end. */
const endsIt = /reconnection attempts|answer is longer than|^SSE error/i;
const maxPages = 50;
const maxTools = 2_000;
/** HTTP statuses of servers that don't support a transport. */
const otherWay = new Set([400, 404, 405, 406, 415, 501]);
const neverSent = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

const pageSchema = z.looseObject({
  tools: z.array(z.unknown()).catch([]),
  nextCursor: z.string().optional().catch(undefined),
});
const toolSchema = z.looseObject({
  name: z.string().min(1),
  description: z.unknown().optional(),
  inputSchema: z.unknown().optional(),
  annotations: z.unknown().optional(),
});

/** Some old servers fail on the protocol version request. Retries them without that request. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const ways = options.transports.flatMap((create) => (["auto", "legacy"] as const).map((mode) => ({ create, mode })));
  let failure: unknown = new TypeError("there is no way to connect");
  for (const { create, mode } of ways) {
    // Omit the version request only if it caused the failure.
    if (mode === "legacy" && !isNegotiationFailure(failure)) continue;
    try {
      return await openWith(create(), mode, options, signal);
    } catch (thrown) {
      failure = thrown;
      const speaksOtherwise = thrown instanceof SdkHttpError && otherWay.has(thrown.status);
      if (!isNegotiationFailure(thrown) && !speaksOtherwise) throw thrown;
    }
  }
  throw failure;
}

function isNegotiationFailure(thrown: unknown): boolean {
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.EraNegotiationFailed;
}

async function openWith(
  transport: Transport,
  mode: "auto" | "legacy",
  { connectMs, onChanged, onError }: SessionOptions,
  signal: AbortSignal,
): Promise<Session> {
  const probe = { timeoutMs: Math.min(versionMs, connectMs / 2) };
  const client = new Client(
    { name: "remora", version: clientVersion },
    {
      versionNegotiation: { mode, probe },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onChanged() } },
    },
  );
  let lose: (why: string) => void = () => {};
  const lost = new Promise<string>((resolve) => {
    lose = resolve;
  });
  let lastError = "";
  client.onclose = () => lose(withDetail("it ended the connection", lastError));
  client.onerror = (error) => {
    lastError = messageOf(error).slice(0, maxDetailLength);
    onError(lastError);
    if (endsIt.test(lastError)) lose(lastError);
  };
  const timeUp = AbortSignal.timeout(connectMs);
  try {
    await client.connect(transport, { timeout: connectMs, signal: AbortSignal.any([signal, timeUp]) });
  } catch (thrown) {
    // Close a half-open transport, because a program would otherwise keep running without a client.
    await transport.close().catch(() => {});
    if (timeUp.aborted) throw new Error(`it was not ready within ${connectMs / 1_000} s`, { cause: thrown });
    if (isNegotiationFailure(thrown) || thrown instanceof SdkHttpError) throw thrown;
    throw new Error(withDetail(explained(thrown), lastError), { cause: thrown });
  }
  return {
    lost,
    list: (listSignal) => list(client, listSignal),
    async call(tool, input, timeoutMs, callSignal) {
      const outcome = await call(client, tool, input, timeoutMs, callSignal);
      if (outcome.type === "unsent" && outcome.isBusy !== true) lose(outcome.message);
      return outcome;
    },
    async close() {
      lose("it was closed");
      await client.close();
    },
  };
}

/** Checks each entry separately so that one invalid tool does not affect the others. */
async function list(client: Client, signal: AbortSignal) {
  const tools: ListedTool[] = [];
  let nameless = 0;
  let cursor: string | undefined;
  const isWithout = client.getServerCapabilities()?.tools === undefined;
  for (let page = 0; page < maxPages && !isWithout; page += 1) {
    const request = { method: "tools/list", params: cursor === undefined ? {} : { cursor } };
    const { tools: entries, nextCursor } = await client.request(request, pageSchema, { timeout: listMs, signal });
    for (const entry of entries) {
      const read = toolSchema.safeParse(entry);
      if (read.success) {
        const { name, description, inputSchema, annotations } = read.data;
        tools.push({ name, description, inputSchema, annotations });
      } else nameless += 1;
    }
    if (nextCursor === undefined || nextCursor === cursor) return { tools, nameless, isCut: false };
    if (tools.length > maxTools) return { tools: tools.slice(0, maxTools), nameless, isCut: true };
    cursor = nextCursor;
  }
  return { tools, nameless, isCut: !isWithout };
}

async function call(
  client: Client,
  { name, inputSchema }: ListedTool,
  input: JsonObject,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CallOutcome> {
  // Pass the input schema, which may map arguments to headers. Omit the output schema: invalid results are useful.
  const schema = z.looseObject({ type: z.literal("object") }).safeParse(inputSchema).data ?? {
    type: "object" as const,
  };
  const toolDefinition = { name, inputSchema: schema };
  try {
    const result = await client.callTool({ name, arguments: input }, { signal, timeout: timeoutMs, toolDefinition });
    return { type: "answered", result };
  } catch (thrown) {
    signal.throwIfAborted();
    return outcomeOf(thrown);
  }
}

function outcomeOf(thrown: unknown): CallOutcome {
  const message = messageOf(thrown);
  if (thrown instanceof ProtocolError) return { type: "refused", message };
  if (thrown instanceof SdkHttpError) {
    // Status 404 means that the server has forgotten the session, for example after a restart.
    if (thrown.status === 404) return { type: "unsent", message };
    if (thrown.status === 429) return { type: "unsent", message, isBusy: true };
    if (thrown.status < 500) return { type: "refused", message };
    return { type: "unknown", message };
  }
  if (thrown instanceof SdkError) {
    const { code } = thrown;
    if (code === SdkErrorCode.NotConnected || code === SdkErrorCode.SendFailed) return { type: "unsent", message };
    if (code === SdkErrorCode.UnsupportedResultType) return { type: "refused", message };
    return { type: "unknown", message };
  }
  const code = codeOf(causeOf(thrown)) ?? codeOf(thrown);
  return { type: code !== undefined && neverSent.has(code) ? "unsent" : "unknown", message: explained(thrown) };
}

/** `fetch` itself only reports that it failed, so this adds the cause's message. */
function explained(thrown: unknown): string {
  const cause = causeOf(thrown);
  return withDetail(messageOf(thrown), cause === undefined ? "" : messageOf(cause) || (codeOf(cause) ?? ""));
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? thrown.cause : undefined;
}

function withDetail(message: string, detail: string): string {
  return detail === "" || message.includes(detail) ? message : `${message} (${detail})`;
}
