/**
 * The bytes of model requests, with all shipped skills, in the real process:
 *
 *   oneLineBytes   a new conversation's message of one line, on the page, in Slack and in Discord
 *   parts          what the request from the page consists of
 *
 * Prints one JSON line.
 */
import { startCallingModel } from "../test/doubles/calling-model.ts";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";

const line = "what is the difference between a mutex and a semaphore?";
const model = await startCallingModel();

/** Starts a process, and returns the requests that the model got because of `work`. */
async function requestsOf(
  more: Record<string, string>,
  work: (remora: Awaited<ReturnType<typeof startRemora>>) => Promise<unknown>,
): Promise<string[]> {
  const home = await createHome();
  const remora = await startRemora(home, { ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url, ...more });
  const before = model.requests.length;
  await work(remora);
  const sent = model.requests.slice(before);
  await remora.kill();
  await home.remove();
  return sent;
}

async function onPage(): Promise<string[]> {
  return await requestsOf({}, async (remora) => {
    const client = await createChatClient(remora.url, remora.token);
    await client.answerTo(await client.say(`@remora ${line}`));
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
const [page = ""] = await onPage();
const [[slack], [discord]] = [await onSlack(), await onDiscord()];
const figures = {
  bench: "request",
  oneLineBytes: { page: bytesOf(page), slack: bytesOf(slack), discord: bytesOf(discord) },
  parts: partsOf(page),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await model.close();
