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
import { processesWith } from "../e2e/durability-world.ts";
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

/** A home whose server ignores the end of its input and signals, and whose grandchild has a session of its own. */
async function openStubborn() {
  const folder = await mkdtemp(join(tmpdir(), "remora-mcp-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const pids = join(folder, "pids");
  const { home, config } = await openHome({ hub: programServer({ start: "detached", pids }) });
  const all: number[] = [];
  const start = async () => {
    await rm(pids, { force: true });
    const remora = await startRemora(home, { REMORA_CONFIG: config });
    const started = await vi.waitFor(
      async () => {
        const found = (await readFile(pids, "utf8")).trim().split("\n").map(Number);
        expect(found).toHaveLength(3);
        return found;
      },
      { timeout: 15_000 },
    );
    all.push(...started);
    return remora;
  };
  const nothingIsLeft = () => vi.waitFor(() => expect(all.filter(isAlive)).toEqual([]), { timeout: 10_000 });
  onTestFinished(() => all.filter(isAlive).forEach((pid) => void process.kill(pid, "SIGKILL")));
  return { start, nothingIsLeft, all };
}

/** The shell that waits for the end of `pid`. */
async function watchersOf(pid: number): Promise<number[]> {
  return (await processesWith("cmdline", `-${pid}-`)).filter((found) => found !== process.pid);
}

test("a kill and a SIGTERM end the most stubborn server with all it has started, also in other sessions", async () => {
  const { start, nothingIsLeft, all } = await openStubborn();
  for (let kills = 0; kills < 2; kills += 1) {
    const remora = await start();
    await remora.kill();
    await nothingIsLeft();
    await vi.waitFor(async () => expect(await watchersOf(remora.pid)).toEqual([]), { timeout: 10_000 });
  }
  // If what watches is killed as well, the next start does it, and leaves alone what is its own.
  const third = await start();
  const watchers = await watchersOf(third.pid);
  expect(watchers).toHaveLength(1);
  for (const pid of watchers) process.kill(pid, "SIGKILL");
  await third.kill();
  const left = all.filter(isAlive);
  expect(left).toHaveLength(3);
  const again = await start();
  await vi.waitFor(() => expect(left.filter(isAlive)).toEqual([]), { timeout: 10_000 });
  expect(all.filter(isAlive)).toHaveLength(3);
  expect(await again.stop()).toBe(0);
  await nothingIsLeft();
  await vi.waitFor(async () => expect(await watchersOf(again.pid)).toEqual([]), { timeout: 10_000 });
});
