/** Budgets in dollars on Slack and Discord, with one process for both: the card, Continue, others' clicks, and a no. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

let slack: SlackDouble;
let discord: DiscordDouble;
let home: RemoraHome;
let remora: RemoraProcess;
let config: string;
let yaml: string[];

interface Seen {
  id: string;
  text: string;
  buttons: string[];
}

/** A channel of its own, in which Ben asks. Ann owns the agent. */
interface Channel {
  until<T>(find: () => T | undefined): Promise<T>;
  ask(text: string): () => Seen[];
  click(who: "ann" | "ben", card: Seen, button: string): Promise<void>;
  /** What only this person sees, newest last. */
  receipts(who: "ann" | "ben"): string[];
  usage(): Promise<string>;
  /** What Ben reads who may not use it. */
  refusal(): Promise<string>;
}

beforeAll(async () => {
  [slack, discord, home] = await Promise.all([createSlackDouble(), createDiscordDouble(), createHome()]);
  config = join(home.workspace, "remora.yaml");
  yaml = [
    // Each answer of the demo model costs some cents.
    'models: { prices: { "demo/*": { input: 0, output: 1000 } } }',
    "limits: { dollars: { channel: 0.01, step: 100 } }",
    `safety: { owners: ["user:slack:${slack.ann.id}", "user:discord:${discord.ann.id}"] }`,
  ];
  await writeFile(config, yaml.join("\n"));
  remora = await startRemora(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, REMORA_CONFIG: config },
  });
});
afterAll(async () => {
  await remora.kill();
  await Promise.all([slack.stop(), discord.stop(), home.remove()]);
});

function slackChannel(name: string): Channel {
  const channel = slack.workspace.addChannel({ name, members: [slack.ann, slack.ben] });
  const people = { ann: slack.ann, ben: slack.ben };
  return {
    until: (find) => slack.until(find) as never,
    ask(text) {
      const said = slack.people.say({ as: slack.ben, in: channel, text: `@Remora ${text}` });
      return () =>
        slack
          .see({ in: channel, thread: said.ts })
          .filter(({ isAgents }) => isAgents)
          .map(({ ts: id, readable: text, buttons }) => ({ id, text, buttons: buttons.map(({ label }) => label) }));
    },
    async click(who, { id }, button) {
      await slack.interactions.click({ as: people[who], on: { channel, ts: id }, button }).acknowledged();
    },
    receipts: (who) =>
      slack
        .see({ in: channel, as: people[who] })
        .filter(({ isEphemeral }) => isEphemeral)
        .map(({ readable }) => readable),
    async usage() {
      slack.interactions.command({ as: slack.ben, in: channel, command: "/remora", text: "usage" });
      return await this.until(() => this.receipts("ben").find((text) => text.includes("this channel")));
    },
    async refusal() {
      slack.interactions.command({ as: slack.ben, in: channel, command: "/remora", text: "usage" });
      return await this.until(() => this.receipts("ben").find((text) => text.includes("not on the list")));
    },
  };
}

function discordChannel(name: string): Channel {
  const channel = discord.guild.addChannel(name);
  const people = { ann: discord.ann, ben: discord.ben };
  const receipts = { ann: [] as string[], ben: [] as string[] };
  const replyTo = async (interaction: ReturnType<typeof discord.ann.slash>) => {
    await discord.until(() => interaction.state() === "answered", 30_000);
    return withoutEscapes(interaction.reply()?.content ?? "");
  };
  return {
    until: (find) => discord.until(find) as never,
    ask(text) {
      const said = discord.ben.say(`${discord.bot.mention} ${text}`, { in: channel });
      return () =>
        (
          channel
            .threads()
            .find(({ id }) => id === said.id)
            ?.messages() ?? []
        )
          .filter(({ author, type }) => author.id === discord.bot.id && type !== 21)
          .map(({ id, content, embeds, components, buttons }) => ({
            id,
            text: withoutEscapes(`${content} ${JSON.stringify([embeds, components])}`),
            buttons: buttons.map(({ label }) => label ?? ""),
          }));
    },
    async click(who, { id }, button) {
      const thread = channel.threads().find((one) => one.messages().some((message) => message.id === id));
      const card = thread?.messages().find((message) => message.id === id);
      if (card === undefined) throw new Error(`there is no message ${id}`);
      receipts[who].push(await replyTo(people[who].click(card, button)));
    },
    receipts: (who) => receipts[who],
    usage: () => replyTo(discord.ben.slash("remora usage", { in: channel })),
    refusal: () => replyTo(discord.ben.slash("remora usage", { in: channel })),
  };
}

/** Discord shows Markdown. */
function withoutEscapes(text: string): string {
  return text.replaceAll("\\", "");
}

describe.each([
  ["Slack", slackChannel],
  ["Discord", discordChannel],
] as const)("on %s", (_service, channelCalled) => {
  const isCard = ({ buttons }: Seen) => buttons.includes("Continue, +$100");
  const answer = ({ text }: Seen) => text.includes("demo model");

  test("the card appears below the answer, others can't use it, and Continue lets waiting requests go on", async () => {
    const channel = channelCalled("budget");
    const first = channel.ask("help");
    const card = await channel.until(() => first().find(isCard));
    expect(card.text).toMatch(/This channel has used \$\d\.\d+ of \$0\.01 today\. Continue, \+\$100\?/);
    expect(card.buttons).toContain("Stop at $0.01");
    expect(first().findIndex(answer)).toBeLessThan(first().findIndex(isCard));
    await channel.click("ben", card, "Continue, +$100");
    await channel.until(() => channel.receipts("ben").find((text) => text.includes("can answer this")));

    const second = channel.ask("help");
    const waiting = await channel.until(() => second().find(isCard));
    expect(second().filter(answer)).toEqual([]);
    await channel.click("ann", waiting, "Continue, +$100");
    await channel.until(() => channel.receipts("ann").find((text) => text.includes("The budget is now $100")));
    await channel.until(() => second().find(answer));
    // The card of the first request is about the same addition.
    await channel.until(() => first().find(({ id, buttons }) => id === card.id && buttons.length === 0));
    const third = channel.ask("help");
    await channel.until(() => third().find(answer));
    expect(await channel.usage()).toMatch(/budget: \$\d\.\d+ of \$100 used, \$100 of it added today/);
  });

  test("a no ends the request kindly, and later requests read why without a card", async () => {
    const channel = channelCalled("declined");
    const first = channel.ask("help");
    await channel.until(() => first().find(isCard));
    const second = channel.ask("help");
    const waiting = await channel.until(() => second().find(isCard));
    await channel.click("ann", waiting, "Stop at $0.01");
    const end =
      /The budget of this channel for today is used up: \$\d\.\d+ of \$0\.01\. It resets at 00:00 UTC, in .*Ann decided not to add to it/;
    await channel.until(() => second().find(({ text }) => end.test(text)));
    const third = channel.ask("help");
    await channel.until(() => third().find(({ text }) => end.test(text)));
    expect(third().filter(isCard)).toEqual([]);
  });
});

test("a change of access is in force on both services after a signal, without a restart", async () => {
  const only = (id: string) => `{ access: { users: ["${id}"] } }`;
  await writeFile(config, [...yaml, `slack: ${only(slack.ann.id)}`, `discord: ${only(discord.ann.id)}`].join("\n"));
  process.kill(remora.pid, "SIGHUP");
  const inForce = async () =>
    await (
      await fetch(`${remora.url}/dashboard/data/settings`, { headers: { authorization: `Bearer ${remora.token}` } })
    ).text();
  await expect.poll(inForce).toContain('"key":"discord.access.users","value":"[\\"');
  for (const channelCalled of [slackChannel, discordChannel])
    expect(await channelCalled("listed").refusal()).toContain("you are not on the list of people who may use me");
});
