/** The tools of the test servers, with the real server library: well-behaved and badly behaved ones. */
import { appendFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

export interface TestServerOptions {
  /** This many tools `tool-1`, `tool-2`, … instead of the usual ones. */
  count?: number;
  /** A file that gets a line for every call. */
  calls?: string;
  /** Extra list entries that no library would accept. */
  odd?: unknown[];
  /** Tools of these names besides. */
  more?: string[];
  /** Other tools than the usual ones, asked for at each list. A call of `relist` says that they have changed. */
  own?: { list(): object[]; call(name: string, given: object): string };
  /** Does not say that it has tools. */
  isEmpty?: boolean;
  /** A page of the list that leads to itself. */
  isEndless?: boolean;
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const usual = [
  "echo",
  "environment",
  "everything",
  "refuse",
  "die",
  "hang",
  "flood",
  "huge",
  "endless",
  "rename",
  "wait",
];

type Answer = { content: unknown[]; isError?: boolean; structuredContent?: unknown };
const text = (said: string): Answer => ({ content: [{ type: "text", text: said }] });

export function createTestServer(options: TestServerOptions = {}): Server {
  const capabilities = options.isEmpty === true ? {} : { tools: { listChanged: true }, logging: {} };
  const server = new Server({ name: "test", version: "1.0.0" }, { capabilities });
  if (options.isEmpty === true) return server;
  let renamed = 0;

  const list = () => {
    const named =
      options.count === undefined
        ? [
            ...usual.filter((name) => name !== "rename" || renamed === 0),
            ...(renamed === 0 ? [] : [`renamed-${renamed}`]),
          ]
        : Array.from({ length: options.count }, (_, index) => `tool-${index + 1}`);
    return [...named, ...(options.more ?? [])].map((name) => ({
      name,
      description: `What ${name} does`,
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
      annotations: { readOnlyHint: true },
    }));
  };

  server.setRequestHandler(ListToolsRequestSchema, async (request): Promise<never> => {
    const tools = options.own?.list() ?? [...list(), ...(options.odd ?? [])];
    const cursor = request.params?.cursor;
    if (options.isEndless === true) return { tools, nextCursor: `${Number(cursor ?? 0) + 1}` } as never;
    return { tools } as never;
  });
  server.setRequestHandler(CallToolRequestSchema, async (request): Promise<never> => {
    const { name, arguments: given = {} } = request.params;
    if (options.calls !== undefined) appendFileSync(options.calls, `${name}\n`);
    if (options.own === undefined) return (await act(name, given)) as never;
    if (name === "relist") await server.notification({ method: "notifications/tools/list_changed" });
    return text(options.own.call(name, given)) as never;
  });

  async function act(name: string, given: { [key: string]: unknown }): Promise<Answer> {
    switch (name) {
      case "environment":
        return text(JSON.stringify({ environment: process.env, folder: process.cwd(), pid: process.pid }));
      case "everything":
        return { content: everything };
      case "refuse":
        return { ...text("no such thing"), isError: true };
      case "die":
        process.exit(7);
        break;
      case "hang":
        return await new Promise<Answer>(() => {});
      case "wait":
        await new Promise((resolve) => setTimeout(resolve, Number(given.ms)));
        return text("waited");
      case "flood":
        for (let index = 0; index < 20_000; index += 1) {
          await server.notification({
            method: "notifications/message",
            params: { level: "info", data: "x".repeat(200) },
          });
          if (index % 100 === 0) await server.notification({ method: "notifications/tools/list_changed" });
        }
        return text("flooded");
      case "huge":
        return text("x".repeat(3_000_000));
      case "endless":
        return text("x".repeat(12 * 1024 * 1024));
      case "rename":
      case `renamed-${renamed}`:
        renamed += 1;
        await server.notification({ method: "notifications/tools/list_changed" });
        return text(`it is called renamed-${renamed} now`);
    }
    return text(`${name} ${JSON.stringify(given)}`);
  }
  return server;
}

const everything = [
  { type: "text", text: "first" },
  { type: "image", data: pixel, mimeType: "image/png" },
  { type: "audio", data: "AAAA", mimeType: "audio/wav" },
  { type: "resource", resource: { uri: "file:///notes.txt", mimeType: "text/plain", text: "in the notes" } },
  { type: "resource", resource: { uri: "file:///data.bin", mimeType: "application/octet-stream", blob: "AAECAw==" } },
  { type: "resource_link", uri: "https://example.com/report", name: "report" },
];
