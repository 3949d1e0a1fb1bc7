/** The local platform on a real web server at a free port, and its API as a program uses it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEvents } from "../../../src/lib/event-bus.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import { createLocalPlatform, type LocalPlatform } from "../../../src/platforms/local/platform.ts";
import { createMetrics } from "../../../src/web/metrics.ts";
import { createWebServer, type WebServer } from "../../../src/web/server.ts";

export const token = "the-token-of-this-test";

export const maxUploadBytes = 3 * 1024 * 1024;

export interface LocalPage {
  platform: LocalPlatform;
  server: WebServer;
  url: string;
  /** With the token, as a program. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body: unknown): Promise<Response>;
  messages(query: string): Promise<StoredMessage[]>;
  /** The process ends and another starts on the same chat; without `port` on another one. */
  restart(port?: number): Promise<void>;
  /** Everybody may, until a test replaces it. */
  mayAnswer(cardId: string, person: string): boolean;
  close(): Promise<void>;
}

const commands = () => [
  { usage: "ask TEXT", description: "ask the agent" },
  { usage: "status", description: "what runs, waits for a person, or is queued" },
  { usage: "stop", description: "stop what runs or waits here, and its approvals" },
];

export async function openLocalPage(): Promise<LocalPage> {
  const folder = await mkdtemp(join(tmpdir(), "remora-local-"));
  const start = async (port = 0) => {
    const platform = createLocalPlatform({
      ...{ dataFile: join(folder, "chat.sqlite"), commands, log: silentLog },
      maxFileBytes: maxUploadBytes,
      mayAnswer: async (cardId, by) => page.mayAnswer(cardId, by.id),
    });
    const metrics = createMetrics(createEvents());
    const readiness = () => ({ isReady: platform.health().isConnected, detail: platform.health().detail });
    const server = createWebServer({ host: "127.0.0.1", port, token, readiness, metrics, log: silentLog });
    platform.mount(server.app);
    return { platform, server, url: (await server.start()).url };
  };
  const stop = async () => {
    await page.platform.close();
    await page.server.close();
  };
  const page: LocalPage = {
    ...(await start()),
    mayAnswer: () => true,
    fetch(path, init = {}) {
      const headers = { authorization: `Bearer ${token}`, ...init.headers };
      return fetch(new URL(path, page.url), { redirect: "manual", ...init, headers });
    },
    post(path, body) {
      return page.fetch(path, { method: "POST", body: JSON.stringify(body) });
    },
    async messages(query) {
      const response = await page.fetch(`/local/api/messages?${query}`);
      return ((await response.json()) as { messages: StoredMessage[] }).messages;
    },
    async restart(port) {
      await stop();
      Object.assign(page, await start(port));
    },
    async close() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
  return page;
}
