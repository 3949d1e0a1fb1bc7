/**
 * An OTLP collector on 127.0.0.1: `POST /v1/traces` as JSON, with the checks of the protocol. Ids are hexadecimal and not zero,
 * times are decimal strings of nanoseconds, and no field is unknown (opentelemetry-proto, trace/v1/trace.proto).
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { requestListener } from "./request-listener.ts";

const hex = (digits: number) => z.string().regex(new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`));
const nanoseconds = z.string().regex(/^[1-9]\d{17,19}$/);
const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({
    arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }),
  }),
]);
const attributes = z.array(z.strictObject({ key: z.string().min(1), value }));
const span = z
  .strictObject({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16).optional(),
    name: z.string().min(1),
    kind: z.number().int().min(1).max(5),
    startTimeUnixNano: nanoseconds,
    endTimeUnixNano: nanoseconds,
    attributes,
    status: z.strictObject({ code: z.number().int().min(0).max(2), message: z.string().optional() }),
  })
  .refine((one) => BigInt(one.startTimeUnixNano) <= BigInt(one.endTimeUnixNano), "it ends before it starts");
const scope = z.strictObject({ name: z.string(), version: z.string() });
const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span).min(1) })),
    }),
  ),
});

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string | undefined;
  name: string;
  start: bigint;
  end: bigint;
  status: number;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

export interface TraceCollector {
  url: string;
  spans: CollectedSpan[];
  /** Everything that was refused as malformed. */
  problems: string[];
  requests: { path: string; authorization?: string | undefined }[];
  /** The next requests get these statuses. */
  failNext(...statuses: number[]): void;
  close(): Promise<void>;
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const faults: number[] = [];
  const found: Pick<TraceCollector, "spans" | "problems" | "requests"> = { spans: [], problems: [], requests: [] };
  const server = createServer(
    requestListener(async (incoming, response) => {
      const { url = "", headers } = incoming;
      const body = await text(incoming);
      found.requests.push({ path: url, authorization: headers.authorization });
      const fault = faults.shift();
      if (fault !== undefined) return void response.writeHead(fault).end();
      if (url !== "/v1/traces" || headers["content-type"] !== "application/json")
        return void response.writeHead(404).end();
      const parsed = request.safeParse(JSON.parse(body));
      if (!parsed.success) {
        found.problems.push(z.prettifyError(parsed.error));
        return void response.writeHead(400).end();
      }
      for (const { resource, scopeSpans } of parsed.data.resourceSpans)
        for (const { spans } of scopeSpans)
          for (const { startTimeUnixNano, endTimeUnixNano, status, ...one } of spans)
            found.spans.push({
              ...one,
              start: BigInt(startTimeUnixNano),
              end: BigInt(endTimeUnixNano),
              status: status.code,
              attributes: plain(one.attributes),
              resource: plain(resource.attributes),
            });
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...found,
    url: `http://127.0.0.1:${port}`,
    failNext: (...statuses) => void faults.push(...statuses),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function plain(list: z.infer<typeof attributes>): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value: held }) => [key, Object.values(held)[0]]));
}
