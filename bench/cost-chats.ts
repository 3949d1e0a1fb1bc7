/** A person on each platform who writes, approves what the agent asks, and waits for the end of the answer. */
import { randomUUID } from "node:crypto";
import { createChatClient } from "../test/doubles/chat-client.ts";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import type { RunningRemora } from "../test/doubles/remora-in-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";
import type { Turn } from "./cost-stories.ts";

export interface Chat {
  say(turn: Turn): Promise<void>;
  close(): Promise<void>;
}

type Start = (env: Record<string, string>) => Promise<RunningRemora>;
export type PlatformName = keyof typeof openers;

const patienceMs = 60_000;
const openers = { page: openPage, slack: openSlack, discord: openDiscord };

export function openChat(platform: PlatformName, start: Start): Promise<Chat> {
  return openers[platform](start);
}

async function openPage(start: Start): Promise<Chat> {
  const remora = await start({});
  const ann = await createChatClient(remora.url, remora.token);
  const threads = new Map<string, string>();
  return {
    async say({ place, text, files }) {
      const thread = threads.get(place);
      const channel = { channel: "general", ...(thread === undefined ? {} : { thread }) };
      const uploads = files.map((file) => ann.upload(randomUUID(), { ...file, mimeType: "text/plain" }));
      const where = place === "dm" ? ({ dm: true } as const) : channel;
      const said = await ann.say(`@remora ${text}`, where, await Promise.all(uploads));
      threads.set(place, thread ?? said.id);
      const answered = ann.answerTo(said);
      void ann.cardFor(said).then((card) => ann.click(card, "approve"));
      await answered;
    },
    async close() {
      ann.close();
      await remora.stop();
    },
  };
}

async function openSlack(start: Start): Promise<Chat> {
  const slack = await createSlackDouble();
  const { botToken, appToken, apiUrl, ann, general } = slack;
  const remora = await start({ SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: appToken, SLACK_API_URL: apiUrl });
  await slack.until(() => slack.sockets.count() === 1, patienceMs);
  const threads = new Map<string, string>();
  return {
    async say({ place, text, files, answer }) {
      const channel = place === "dm" ? slack.workspace.direct(ann) : general;
      const thread = threads.get(place);
      const words = place === "dm" ? text : `@Remora ${text}`;
      const shared = files.map((file) => ({ ...file, mimetype: "text/plain" }));
      const inThread = thread === undefined ? {} : { thread };
      const { ts: root } = slack.people.say({ as: ann, in: channel, text: words, files: shared, ...inThread });
      threads.set(place, thread ?? root);
      const isAsking = createOnce();
      await slack.until(() => {
        const seen = slack.see({ in: channel, thread: thread ?? root }).filter(({ isAgents }) => isAgents);
        const card = seen.find(({ ts, buttons }) => buttons.some(({ label }) => label === "Approve") && isAsking(ts));
        if (card !== undefined)
          void slack.interactions.click({ as: ann, on: { channel, ts: card.ts }, button: "Approve" }).acknowledged();
        return seen.some((one) => one.streaming !== "in_progress" && one.readable.includes(startOf(answer)));
      }, patienceMs);
    },
    async close() {
      await remora.stop();
      await slack.stop();
    },
  };
}

async function openDiscord(start: Start): Promise<Chat> {
  const discord = await createDiscordDouble();
  const { ann, bot, channel } = discord;
  const remora = await start({ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl });
  await discord.until(() => discord.gateway.connected().length === 1, patienceMs);
  const threads = new Map<string, string>();
  const threadOf = (place: string) => channel.threads().find(({ id }) => id === threads.get(place));
  return {
    async say({ place, text, files, answer }) {
      const words = place === "dm" ? text : `${bot.mention} ${text}`;
      const said = ann.say(words, { in: place === "dm" ? "dm" : (threadOf(place) ?? channel), files });
      threads.set(place, threads.get(place) ?? said.id);
      const isAsking = createOnce();
      await discord.until(() => {
        const here = place === "dm" ? ann.dm() : threadOf(place);
        const seen = (here?.messages() ?? []).filter(({ author }) => author.id === bot.id);
        const card = seen.find(({ id, buttons }) => buttons.some(({ label }) => label === "Approve") && isAsking(id));
        if (card !== undefined) ann.click(card, "Approve");
        return seen.some(({ content }) => content.includes(startOf(answer)));
      }, patienceMs);
    },
    async close() {
      await remora.stop();
      await discord.stop();
    },
  };
}

/** With its number, which no other answer has. */
const startOf = (answer: string) => answer.slice(0, 20);

/** True for each id at the first time only. */
function createOnce(): (id: string) => boolean {
  const known = new Set<string>();
  return (id) => known.size !== known.add(id).size;
}
