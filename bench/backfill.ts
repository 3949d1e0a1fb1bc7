/**
 * What it costs that a mention in a long thread brings along what was said there. The same mentions, in threads of 300 messages,
 * in two processes per service that alternate: one reads earlier messages (50, or 20 KB), the other does not.
 *
 *   requestMs      median from the mention to the complete request at the model
 *   requestBytes   size of that request
 *   calls          requests to the service for earlier messages, per mention
 *   long           the same for one thread of 5,000 messages, with the memory that the process gained
 *
 * The services are doubles on this machine, so each call costs about a millisecond. Prints one JSON line. `node bench/backfill.ts
 * [mentions]`; default 20.
 */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { createDiscordDouble } from "../test/doubles/discord/double.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";
import { createModelServer } from "./model-server.ts";
import { residentMb } from "./process-usage.ts";

interface Service {
  env: Record<string, string>;
  /** Makes a thread without the agent, and returns how to mention the agent in it. */
  thread(messages: number): () => void;
  reads(): number;
  stop(): Promise<void>;
}

interface Figures {
  requestMs: number;
  requestBytes: number;
  calls: number;
}

const mentions = Number(process.argv[2] ?? 20);
const threadLength = 300;
const longLength = 5_000;
const restMs = 300;
const words = "The release has to wait until the numbers of the second region are in, and somebody has looked at them";

async function createSlack(): Promise<Service> {
  const slack = await createSlackDouble();
  slack.limits.isEnforced = false;
  const { state, people, ann, ben, general } = slack;
  return {
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    thread(messages) {
      state.messages.length = 0;
      const begin = slack.clock.now() / 1_000 - messages * 60;
      const tsOf = (index: number) => (begin + index * 60).toFixed(6);
      const root = people.say({ as: ben, in: general, text: `${words} 0` });
      root.message.ts = tsOf(0);
      for (let index = 1; index < messages; index++) {
        const user = index % 3 === 0 ? ann.id : ben.id;
        state.messages.push({
          ...root.message,
          ts: tsOf(index),
          user,
          threadTs: tsOf(0),
          text: `${words} ${index}`,
          blocks: [],
        });
      }
      return () => void people.say({ as: ann, in: general, text: "@Remora what now?", thread: tsOf(0) });
    },
    reads: () => slack.callsOf("conversations.replies").length,
    stop: () => slack.stop(),
  };
}

async function createDiscord(): Promise<Service> {
  const discord = await createDiscordDouble({ limits: { global: "none", default: "none", "messages.list": "none" } });
  const { ann, ben, channel } = discord;
  const isRead = (method: string, path: string) => method === "GET" && /\/messages(?:\/\d+)?$/.test(path);
  return {
    env: { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    thread(messages) {
      const thread = ben.startThread(ben.say(`${words} 0`, { in: channel }), "release");
      for (let index = 1; index < messages; index++)
        (index % 3 === 0 ? ann : ben).say(`${words} ${index}`, { in: thread });
      return () => void ann.say(`${discord.bot.mention} what now?`, { in: thread });
    },
    reads: () => discord.requests.filter(({ method, path }) => isRead(method, path)).length,
    stop: () => discord.stop(),
  };
}

async function open(create: () => Promise<Service>, messages: number) {
  const [service, home] = await Promise.all([create(), createHome()]);
  let bytes = 0;
  const model = await createModelServer({
    words: 2,
    wordMs: 0,
    onRequest: (body) => {
      bytes = Buffer.byteLength(body);
    },
  });
  const config = join(dirname(home.data), "remora.yaml");
  const limits = { userRequestsPerMinute: null, channelRequestsPerMinute: null };
  await writeFile(config, JSON.stringify({ context: { backfill: { messages, channelMessages: 0 } }, limits }));
  const remora = await startRemora(home, {
    ...service.env,
    ...{ ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: config },
  });
  return {
    pid: remora.pid,
    async measure(length: number): Promise<Figures> {
      const mention = service.thread(length);
      await new Promise((done) => setTimeout(done, restMs));
      const [asked, read] = [model.requests(), service.reads()];
      const saidAt = performance.now();
      mention();
      while (model.requests() === asked) await new Promise((done) => setTimeout(done, 1));
      const requestMs = model.requestAt() - saidAt;
      return { requestMs, requestBytes: bytes, calls: service.reads() - read };
    },
    async close() {
      await remora.kill();
      await Promise.all([service.stop(), model.close(), home.remove()]);
    },
  };
}

function median(figures: Figures[]): Figures {
  const of = (key: keyof Figures) =>
    figures.map((each) => each[key]).toSorted((a, b) => a - b)[figures.length >> 1] ?? 0;
  return { requestMs: Number(of("requestMs").toFixed(1)), requestBytes: of("requestBytes"), calls: of("calls") };
}

async function compare(create: () => Promise<Service>) {
  const [reading, not] = await Promise.all([open(create, 50), open(create, 0)]);
  const [own, other]: [Figures[], Figures[]] = [[], []];
  for (let count = 0; count < mentions + 3; count++) {
    const both = [await reading.measure(threadLength), await not.measure(threadLength)];
    if (count < 3) continue;
    own.push(both[0] as Figures);
    other.push(both[1] as Figures);
  }
  const before = await residentMb(reading.pid);
  const long = await reading.measure(longLength);
  const gainedMb = Number(((await residentMb(reading.pid)) - before).toFixed(1));
  await Promise.all([reading.close(), not.close()]);
  return { with: median(own), without: median(other), long: { ...median([long]), gainedMb } };
}

const slack = await compare(createSlack);
const discord = await compare(createDiscord);
process.stdout.write(`${JSON.stringify({ bench: "backfill", mentions, threadLength, longLength, slack, discord })}\n`);
