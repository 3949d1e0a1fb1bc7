/** A person on each platform who writes, waits for the end of the answer, and approves what the agent asks. */
import { createChatClient, type SeenMessage } from "../test/doubles/chat-client.ts";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import type { RunningRemora } from "../test/doubles/remora-in-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";
import type { Said } from "../test/doubles/slack/people.ts";
import type { Turn } from "./cost-stories.ts";

export type PlatformName = "page" | "slack" | "discord";

export interface Chat {
  /** Resolves with the end of the answer. */
  say(turn: Turn): Promise<void>;
  close(): Promise<void>;
}

type Start = (env: Record<string, string>) => Promise<RunningRemora>;

const patienceMs = 60_000;

export function openChat(platform: PlatformName, start: Start): Promise<Chat> {
  return { page: openPage, slack: openSlack, discord: openDiscord }[platform](start);
}

async function openPage(start: Start): Promise<Chat> {
  const remora = await start({});
  const ann = await createChatClient(remora.url, remora.token);
  const threads = new Map<string, SeenMessage>();
  return {
    async say({ place, text, files = [] }) {
      const thread = threads.get(place)?.id;
      const where =
        place === "dm" ? ({ dm: true } as const) : { channel: "general", ...(thread === undefined ? {} : { thread }) };
      const uploads = files.map(({ name, content }) =>
        ann.upload(crypto.randomUUID(), { name, content, mimeType: "text/plain" }),
      );
      const said = await ann.say(`@remora ${text}`, where, await Promise.all(uploads));
      if (!threads.has(place)) threads.set(place, said);
      const answered = ann.answerTo(said);
      ann.cardFor(said).then(
        (card) => ann.click(card, "approve"),
        () => {},
      );
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
  slack.limits.isEnforced = false;
  const remora = await start({
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_API_URL: slack.apiUrl,
  });
  await slack.until(() => slack.sockets.count() === 1, patienceMs);
  const threads = new Map<string, Said>();
  return {
    async say({ place, text, files = [], answer }) {
      const channel = place === "dm" ? slack.workspace.direct(slack.ann) : slack.general;
      const thread = threads.get(place);
      const line = place === "dm" ? text : `@Remora ${text}`;
      const shared = files.map(({ name, content }) => ({ name, content, mimetype: "text/plain" }));
      const said = slack.people.say({
        as: slack.ann,
        in: channel,
        text: line,
        files: shared,
        ...(thread === undefined ? {} : { thread }),
      });
      if (thread === undefined) threads.set(place, said);
      const pressed = new Set<string>();
      await slack.until(() => {
        const seen = slack.see({ in: channel, thread: (thread ?? said).ts }).filter(({ isAgents }) => isAgents);
        const card = seen.find(
          ({ ts, buttons }) => !pressed.has(ts) && buttons.some(({ label }) => label === "Approve"),
        );
        if (card !== undefined) {
          pressed.add(card.ts);
          slack.interactions
            .click({ as: slack.ann, on: { channel, ts: card.ts }, button: "Approve" })
            .acknowledged()
            .catch(() => {});
        }
        return seen.some(
          ({ readable, streaming }) => streaming !== "in_progress" && readable.includes(answer.slice(0, 20)),
        );
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
  const remora = await start({ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl });
  await discord.until(() => discord.gateway.connected().length === 1, patienceMs);
  const threads = new Map<string, string>();
  return {
    async say({ place, text, files = [], answer }) {
      const threadId = threads.get(place);
      const threadOf = (id: string) => discord.channel.threads().find((thread) => thread.id === id);
      const where =
        place === "dm" ? "dm" : threadId === undefined ? discord.channel : (threadOf(threadId) ?? discord.channel);
      const said = discord.ann.say(place === "dm" ? text : `${discord.bot.mention} ${text}`, { in: where, files });
      if (threadId === undefined) threads.set(place, said.id);
      const pressed = new Set<string>();
      await discord.until(() => {
        const here = place === "dm" ? discord.ann.dm() : threadOf(threads.get(place) ?? "");
        const seen = (here?.messages() ?? []).filter(({ author }) => author.id === discord.bot.id);
        const card = seen.find(
          ({ id, buttons }) => !pressed.has(id) && buttons.some(({ label }) => label === "Approve"),
        );
        if (card !== undefined) {
          pressed.add(card.id);
          discord.ann.click(card, "Approve");
        }
        return seen.some(({ content }) => content.includes(answer.slice(0, 20)));
      }, patienceMs);
    },
    async close() {
      await remora.stop();
      await discord.stop();
    },
  };
}
