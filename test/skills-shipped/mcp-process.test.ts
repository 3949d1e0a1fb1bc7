/** Servers of tools with the whole application: a card, a restart, a click; and that nothing of them outlives the process. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { stringify } from "yaml";
import { createApp } from "../../src/app/app.ts";
import { loadSettings } from "../../src/config/load.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { Provider } from "../../src/ports/provider.ts";
import { createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, startRemora } from "../doubles/remora-process.ts";
import { programServer } from "./mcp-agent.ts";

const project = resolve(import.meta.dirname, "../..");
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Calls `hub_echo` when it is there, then says what came of it. */
const caller: Provider = {
  name: "anthropic",
  model: "anthropic/caller",
  async *stream(request) {
    const result = request.messages.findLast((message) => message.role === "tool");
    const isThere = [...request.tools, ...(request.named ?? [])].some(({ name }) => name === "hub_echo");
    if (result !== undefined) yield { type: "text-delta", text: `It said: ${result.text}` };
    else if (isThere) yield { type: "tool-call", id: "c1", name: "hub_echo", inputJson: '{"text":"hi"}' };
    else yield { type: "text-delta", text: "There is no such tool." };
    const stop = result === undefined && isThere ? "tool-calls" : "end";
    yield { type: "end", stop, usage, model: "anthropic/caller" };
  },
};

async function openHome(servers: JsonObject): Promise<{ home: RemoraHome; config: string }> {
  const home = await createHome();
  onTestFinished(() => home.remove());
  const config = join(home.workspace, "remora.yaml");
  await writeFile(config, stringify({ skills: { settings: { mcp: { servers } } } }));
  return { home, config };
}

test("an approval of such a tool outlives a restart, also before its server is connected again", async () => {
  const { home, config } = await openHome({ hub: programServer() });
  const env = {
    REMORA_CONFIG: config,
    REMORA_WORKSPACE: home.workspace,
    REMORA_DATA: home.data,
    REMORA_PORT: "0",
    REMORA_ENV_FILE: "/dev/null",
  };
  const loaded = loadSettings(env, project);
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const start = async () => {
    const token = "a-token-for-this-test";
    const app = await createApp({
      settings: loaded.settings,
      role: "all",
      signal: new AbortController().signal,
      token,
      log: silentLog,
      redact: (text) => text,
      providers: [caller],
    });
    await app.start();
    const ann = await createChatClient(app.report().url ?? "", token);
    let isOver = false;
    const stop = async () => {
      if (isOver) return;
      isOver = true;
      ann.close();
      await app.close();
    };
    onTestFinished(stop);
    return { ann, stop };
  };
  const first = await start();
  expect((await first.ann.command("skills")).text).toContain("**mcp**");
  await vi.waitFor(() => expect(existsSync(join(home.data, "skills/.offered/mcp.json"))).toBe(true), {
    timeout: 15_000,
  });
  const said = await first.ann.say("@remora call it");
  const card = await first.ann.cardFor(said);
  expect(card.card?.items).toMatchObject([{ tool: "hub_echo", state: "open" }]);
  expect(card.card?.items[0]?.why.join()).toContain("runs hub_echo, a tool of another program");
  await first.stop();

  const second = await start();
  expect(await second.ann.click(card, "approve")).toMatchObject({ accepted: true });
  expect((await second.ann.answerTo(said)).text).toContain('echo {"text":"hi"}');
  await second.stop();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a SIGTERM ends the most stubborn server with all it has started", async () => {
  const folder = await mkdtemp(join(tmpdir(), "remora-mcp-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const pids = join(folder, "pids");
  const { home, config } = await openHome({ hub: programServer({ start: "stubborn", pids }) });
  const remora = await startRemora(home, { REMORA_CONFIG: config });
  const started = await vi.waitFor(
    async () => {
      const found = (await readFile(pids, "utf8")).trim().split("\n").map(Number);
      expect(found).toHaveLength(2);
      return found;
    },
    { timeout: 15_000 },
  );
  expect(await remora.stop()).toBe(0);
  await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]), { timeout: 5_000 });
});
