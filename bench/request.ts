/**
 * The bytes of model requests, with all shipped skills, in the real process:
 *
 *   oneLineBytes   a new conversation's message of one line, on the page, in Slack and in Discord
 *   parts          what the request from the page consists of
 *   turn           a turn of six steps, one of which loads a tool, or a skill with seven tools: the bytes of each request, and
 *                  of all bytes from the second request on the share that a prompt cache reuses (test/doubles/prompt-cache.ts)
 *
 * Prints one JSON line.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCallingModel } from "../test/doubles/calling-model.ts";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import { cachedShares, shareOf } from "../test/doubles/prompt-cache.ts";
import { createHome, type RemoraHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";

const line = "what is the difference between a mutex and a semaphore?";
const model = await startCallingModel();

/** Starts a process, and returns the requests that the model got because of `work`. */
async function requestsOf(
  more: Record<string, string>,
  work: (remora: Awaited<ReturnType<typeof startRemora>>, home: RemoraHome) => Promise<unknown>,
): Promise<string[]> {
  const home = await createHome();
  const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url, ...more });
  const before = model.requests.length;
  await work(remora, home);
  const sent = model.requests.slice(before);
  await remora.kill();
  await home.remove();
  return sent;
}

async function onPage(texts: string[]): Promise<string[]> {
  return await requestsOf({}, async (remora, home) => {
    const folder = join(home.workspace, "files", "channel:general");
    mkdirSync(folder, { recursive: true });
    const rows = Array.from(
      { length: 40 },
      (_, row) => `2026-11-${(row % 28) + 1},${["North", "South"][row % 2]},${row * 3}`,
    );
    writeFileSync(join(folder, "sales.txt"), ["day,region,amount", ...rows, ""].join("\n"));
    const client = await createChatClient(remora.url, remora.token);
    for (const text of texts) await client.answerTo(await client.say(`@remora ${text}`));
    client.close();
  });
}

async function onSlack(): Promise<string[]> {
  const slack = await createSlackDouble();
  const tokens = { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl };
  const sent = await requestsOf(tokens, async () => {
    await slack.until(() => slack.sockets.count() === 1, 60_000);
    slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${line}` });
    await slack.until(() => slack.state.messages.some(({ text }) => text.includes("Finished.")), 60_000);
  });
  await slack.stop();
  return sent;
}

async function onDiscord(): Promise<string[]> {
  const discord = await createDiscordDouble();
  const sent = await requestsOf({ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl }, async () => {
    await discord.until(() => discord.gateway.connected().length === 1, 60_000);
    discord.ann.say(`${discord.bot.mention} ${line}`, { in: discord.channel });
    const isAnswer = ({ body }: { body?: unknown }) => JSON.stringify(body ?? "").includes("Finished.");
    await discord.until(() => discord.requests.some(isAnswer), 60_000);
  });
  await discord.stop();
  return sent;
}

/** Looks at a file, loads something in between, and answers in the sixth step. Its words load nothing by themselves. */
function turnLoading(name: string): string {
  const calls: [string, object][] = [
    ["shell_exec", { command: "ls -la && head -20 sales.txt" }],
    ["load_skill", { name }],
    ["use_tool", { name: "chat_history", input: { limit: 20 } }],
    ["use_tool", { name: "chat_search", input: { query: "sales" } }],
    ["read_file", { path: "sales.txt", limit: 30 }],
  ];
  return calls.map(([tool, input]) => `call ${tool} ${JSON.stringify(input)}`).join(" then ");
}

async function measureTurn(name: string) {
  const sent = await onPage([turnLoading(name)]);
  const shares = cachedShares(sent);
  return {
    bytes: sent.map((request) => Buffer.byteLength(request)),
    cachedShare: { anthropic: shareOf(shares, "marked"), automatic: shareOf(shares, "automatic") },
  };
}

function partsOf(request: string) {
  const { tools = [], system = [], messages } = JSON.parse(request);
  const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
  return {
    tools: Object.fromEntries(tools.map((tool: { name: string }) => [tool.name, sizeOf(tool)])),
    system: system.map(sizeOf),
    messages: messages.map(sizeOf),
  };
}

const bytesOf = (text = "") => Buffer.byteLength(text);
const [page = ""] = await onPage([line]);
const [[slack], [discord]] = [await onSlack(), await onDiscord()];
const figures = {
  bench: "request",
  oneLineBytes: { page: bytesOf(page), slack: bytesOf(slack), discord: bytesOf(discord) },
  parts: partsOf(page),
  turn: { loadsTool: await measureTurn("chat_search"), loadsSkill: await measureTurn("chat") },
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await model.close();
