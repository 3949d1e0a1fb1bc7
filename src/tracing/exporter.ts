/**
 * Sends spans to a collector by OTLP over HTTP, as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). Answers never
 * wait for it: if the collector is slow or away, spans wait in a bounded list, and the oldest are dropped.
 */

import { messageOf } from "../lib/errors.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import type { Log } from "../lib/log.ts";
import type { Events } from "../ports/events.ts";
import { attributes, type OtlpSpan, spanOf } from "./spans.ts";

export interface TraceExporterOptions {
  events: Pick<Events, "listen">;
  log: Log;
  /** Of the collector, such as `http://127.0.0.1:4318`. */
  endpoint: string;
  /** As in OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, percent-encoded. */
  headers: string | null;
  serviceName: string;
  version: string;
  /** `all`, `platforms` or `worker`. */
  role: string;
}

export interface TraceExporter {
  /** Sends the spans that are left, for at most a few seconds. */
  close(): Promise<void>;
}

const flushEveryMs = 2_000;
const maxWaitingSpans = 2_000;
const spansPerRequest = 256;
const requestTimeoutMs = 10_000;
const closeTimeoutMs = 3_000;
/** The answers after which the specification lets a client send the same spans again. */
const retryableStatus: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export function createTraceExporter(options: TraceExporterOptions): TraceExporter {
  const { log } = options;
  const url = tracesAddress(options.endpoint);
  const headers = { "content-type": "application/json", ...parseHeaders(options.headers) };
  const resource = {
    attributes: attributes({
      "service.name": options.serviceName,
      "service.version": options.version,
      "service.instance.id": `${process.pid}`,
      "remora.role": options.role,
    }),
  };
  const scope = { name: "remora", version: options.version };
  let waiting: OtlpSpan[] = [];
  let dropped = 0;
  let problem: string | undefined;
  let sending: Promise<void> | undefined;
  const ended = new AbortController();

  const stopListening = options.events.listen((event) => {
    const span = spanOf(event);
    if (span !== undefined) keep([span]);
  });
  const timer = setInterval(() => void flush(), flushEveryMs).unref();

  /** Drops the oldest beyond the limit. */
  function keep(spans: OtlpSpan[]): void {
    waiting.push(...spans);
    const excess = waiting.length - maxWaitingSpans;
    if (excess <= 0) return;
    waiting = waiting.slice(excess);
    dropped += excess;
  }

  function flush(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
    return sending;
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0 && !ended.signal.aborted) {
      const spans = waiting.slice(0, spansPerRequest);
      waiting = waiting.slice(spans.length);
      const outcome = await send(spans);
      if (outcome !== "again") continue;
      waiting = [...spans, ...waiting];
      keep([]);
      return;
    }
  }

  async function send(spans: OtlpSpan[]): Promise<"sent" | "refused" | "again"> {
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] });
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(requestTimeoutMs), ended.signal]);
      const response = await fetchDirectly(url, { method: "POST", headers, body, signal });
      await response.body?.cancel();
      if (response.ok) {
        report(undefined);
        return "sent";
      }
      report(`it answers ${response.status}`);
      if (retryableStatus.has(response.status)) return "again";
      dropped += spans.length;
      return "refused";
    } catch (thrown) {
      report(messageOf(thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown));
      return "again";
    }
  }

  /** Logs each change once, because the collector may be away for days. */
  function report(now: string | undefined): void {
    if (now === undefined && problem !== undefined) {
      log.info({ url, dropped }, "traces reach the collector again");
      dropped = 0;
    } else if (now !== undefined && problem === undefined) {
      log.warn({ url, problem: now }, "traces don't reach the collector; answers do not wait for it");
    }
    problem = now;
  }

  return {
    async close() {
      stopListening();
      clearInterval(timer);
      const deadline = setTimeout(() => ended.abort(), closeTimeoutMs);
      await sending;
      await flush();
      clearTimeout(deadline);
    },
  };
}

/** As the specification says, the path of the traces follows the endpoint, unless the endpoint has it already. */
export function tracesAddress(endpoint: string): string {
  const url = new URL(endpoint);
  if (!url.pathname.endsWith("/v1/traces")) url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url.href;
}

function parseHeaders(text: string | null): Record<string, string> {
  const pairs = (text ?? "").split(",").filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name.trim().toLowerCase(), decodeURIComponent(value.join("=").trim())];
    }),
  );
}
