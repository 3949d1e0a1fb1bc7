/**
 * Socket Mode with fast reconnection. Frequent pings reveal a silent connection within a few seconds. The SDK gives
 * up if the network is down, so this file reconnects instead: immediately, then with short pauses, without giving up.
 * An envelope is acknowledged when its contents are stored (dispatch.ts).
 */
import { type App, type Receiver, SocketModeReceiver } from "@slack/bolt";
import type { Dispatcher } from "undici";
import { pause } from "../../../lib/backoff.ts";
import { messageOf, type RemoraError } from "../../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../../lib/json.ts";
import type { Log } from "../../../lib/log.ts";
import { isTokenProblem, problemOf } from "./api-problems.ts";
import { dispatch, droppedMinuteOf } from "./dispatch.ts";
import { createLoopWatch, forgiveBlockedLoop } from "./loop-watch.ts";
import { createSdkLogger } from "./sdk-logger.ts";

export interface SocketReceiverOptions {
  appToken: string;
  /** If a token is refused at the start, `start` rejects. With this, connecting goes on in the background. */
  refusedTokenRetryMs: number | undefined;
  apiUrl?: string;
  /** Sends the requests if there is a proxy, because the SDK's own one ignores the global one. */
  dispatcher?: Dispatcher | undefined;
  onConnected(): void;
  /** As for HTTP. */
  onDropped(minute: number): Promise<void>;
  onDisconnected(): void;
  onProblem(problem: RemoraError): void;
  log: Log;
  signal: AbortSignal;
}

/**
 * The SDK sends three pings in this time, then drops a connection that does not answer. Slack waits as long for an
 * acknowledgement, so a shorter limit would lose clicks on a slow network that could still be answered in time.
 */
const maxSilenceMs = 3_000;
const maxOpenMs = 5_000;
const minPauseMs = 100;
const maxPauseMs = 5_000;
/** Only a person can replace a refused token, so retries are rare. */
const refusedPauseMs = 60_000;

interface SocketEvent {
  ack(answer?: unknown): Promise<void>;
  type: string;
  body: Record<string, unknown>;
}

export function createSocketReceiver(options: SocketReceiverOptions): Receiver {
  const { log, signal } = options;
  // Bolt exposes the SDK's client only through its own receiver, which is never started.
  const { client } = new SocketModeReceiver({
    appToken: options.appToken,
    logger: createSdkLogger(log),
    clientPingTimeout: maxSilenceMs,
    autoReconnectEnabled: false,
    dispatcher: options.dispatcher,
    installerOptions: {
      clientOptions: {
        ...(options.apiUrl === undefined ? {} : { slackApiUrl: options.apiUrl }),
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        timeout: maxOpenMs,
      },
    },
  });
  const loop = createLoopWatch();
  const ended = new AbortController();
  const over = AbortSignal.any([signal, ended.signal]);
  let app: App | undefined;
  let isStanding = false;
  let failures = 0;

  async function open(): Promise<void> {
    const limit = AbortSignal.timeout(maxOpenMs);
    const tooLong = new Promise<never>((_, reject) => {
      limit.addEventListener("abort", () => reject(new Error(`Slack opened no connection within ${maxOpenMs} ms`)));
    });
    try {
      await Promise.race([client.start(), tooLong]);
    } catch (thrown) {
      if (limit.aborted) client.disconnect().catch(() => {});
      throw problemOf("apps.connections.open", thrown ?? new Error("the connection closed while opening"));
    }
  }

  async function openPatiently(isFirst: boolean): Promise<void> {
    while (!over.aborted) {
      try {
        await open();
        failures = 0;
        isStanding = true;
        forgiveBlockedLoop(Reflect.get(client, "websocket"), loop);
        options.onConnected();
        return;
      } catch (thrown) {
        const problem = thrown as RemoraError;
        options.onProblem(problem);
        if (isFirst && isTokenProblem(problem)) {
          const retryMs = options.refusedTokenRetryMs;
          if (retryMs !== undefined) void pause(retryMs, over).then(() => openPatiently(false));
          throw problem;
        }
        await pause(pauseAfter(problem, failures++), over);
      }
    }
  }

  // Catch errors of the SDK's frame readers, because an unreadable frame would otherwise end the process.
  const readers = client.listeners("ws_message");
  client.removeAllListeners("ws_message");
  client.on("ws_message", (data: unknown, ...rest: unknown[]) => {
    const frame = withInnerEvent(data);
    for (const read of readers) {
      Promise.resolve(read(frame, ...rest)).catch((thrown: unknown) =>
        log.warn({ error: messageOf(thrown) }, "ignored an unreadable frame from Slack"),
      );
    }
  });

  client.on("disconnected", () => {
    if (!isStanding) return;
    isStanding = false;
    options.onDisconnected();
    if (!over.aborted) void openPatiently(false);
  });

  client.on("slack_event", ({ body, ack, type }: SocketEvent) => {
    // Frames about the connection itself have no body.
    if (app === undefined || typeof body !== "object" || body === null) return;
    // Its page shows what comes over HTTP only. Over a socket, the envelope may say the type as well.
    const dropped = droppedMinuteOf({ type, ...body });
    const stored = dropped === undefined ? dispatch(app, body) : options.onDropped(dropped);
    stored
      .then((answer) => ack(answer))
      .catch((thrown: unknown) =>
        log.warn({ type, error: messageOf(thrown) }, "could not keep a Slack envelope; Slack will resend it"),
      );
  });

  return {
    init(bolt) {
      app = bolt;
    },
    start: () => openPatiently(true),
    async stop() {
      ended.abort();
      loop.stop();
      const wasStanding = isStanding;
      isStanding = false;
      if (wasStanding) await Promise.race([client.disconnect(), pause(1_000, new AbortController().signal)]);
    },
  };
}

/** The SDK throws at an event without an inner one, such as `app_rate_limited` (slackapi/node-slack-sdk#2167). */
function withInnerEvent(data: unknown): unknown {
  const envelope = parseJson(String(data));
  if (!isJsonObject(envelope) || envelope.type !== "events_api" || !isJsonObject(envelope.payload)) return data;
  const { payload } = envelope;
  if (payload.event !== undefined) return data;
  return JSON.stringify({ ...envelope, payload: { ...payload, event: { type: payload.type ?? "unknown" } } });
}

function pauseAfter(problem: RemoraError, failures: number): number {
  if (isTokenProblem(problem)) return refusedPauseMs;
  return problem.retryAfterMs ?? Math.min(maxPauseMs, minPauseMs * 2 ** failures);
}
