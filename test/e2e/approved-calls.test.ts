/** Approved calls, through Slack, Discord and the page's API. */
import { describe } from "vitest";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble } from "../doubles/discord/double.ts";
import type { SeenMessage as SeenOnDiscord } from "../doubles/discord/view.ts";
import { createSlackDouble } from "../doubles/slack/double.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import { isObject } from "../doubles/slack/wire.ts";
import { rendered } from "../platforms/discord/rendering.ts";
import { type CallsDriver, tellApprovedCalls } from "./approved-calls-story.ts";

const untilMs = 20_000;

async function createSlackDriver(): Promise<CallsDriver> {
  const slack = await createSlackDouble();
  // Slack would let one channel wait for minutes; slack.test.ts runs under its rates.
  slack.limits.isEnforced = false;
  const people = { Ann: slack.ann, Ben: slack.ben };
  const channel = slack.workspace.addChannel({ name: "ops", isPrivate: true, members: [slack.ann, slack.ben] });
  const group = slack.workspace.addGroup("crew", [slack.ann, slack.ben]);
  const isCard = ({ metadata }: SeenMessage) =>
    isObject(metadata?.event_payload) && String(metadata.event_payload.key).startsWith("card:");
  return {
    ben: slack.ben.id,
    conversation: `slack:${slack.ann.teamId}:${channel.id}`,
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, SLACK_APP_TOKEN: slack.appToken },
    access: { slack: { access: { roles: [group.id] } } },
    admit(who, isAdmitted) {
      group.users = group.users.filter((id) => id !== people[who].id);
      if (isAdmitted) group.users.push(people[who].id);
    },
    connect: async () => {},
    close: () => slack.stop(),
    leave: async (who) => void slack.people.leave(people[who], channel),
    return: async (who) => void slack.people.join(people[who], channel),
    async ask(text, by = "Ann") {
      const said = slack.people.say({ as: people[by], in: channel, text: `@Remora ${text}` });
      const own = () => slack.see({ in: channel, thread: said.ts }).filter((message) => message.isAgents);
      return {
        answers: async () =>
          own()
            .flatMap((message) => (isCard(message) ? [] : [message.readable]))
            .join("\n"),
        cards: async () =>
          own()
            .filter(isCard)
            .map(({ readable, buttons }) => ({ text: readable, buttons: buttons.map(({ label }) => label) })),
        async press(button, who = "Ann") {
          const { ts } = await slack.until(() => own().findLast(isCard), untilMs);
          const as = people[who];
          const receipts = () => slack.see({ in: channel, thread: said.ts, as }).filter((one) => one.isEphemeral);
          const before = receipts().length;
          await slack.interactions.click({ as, on: { channel, ts }, button }).acknowledged();
          await slack.until(() => receipts()[before], untilMs);
        },
        edit: async (words) => void slack.people.edit(said, `@Remora ${words}`),
        async praise(who) {
          const hasFooter = ({ blocks }: SeenMessage) => JSON.stringify(blocks).includes("👍");
          const { ts } = await slack.until(() => own().findLast(hasFooter), untilMs);
          await slack.interactions.click({ as: people[who], on: { channel, ts }, button: "👍" }).acknowledged();
        },
        say: async (more) => void slack.people.say({ as: people[by], in: channel, thread: said, text: more }),
      };
    },
  };
}

async function createDiscordDriver(): Promise<CallsDriver> {
  const discord = await createDiscordDouble();
  const people = { Ann: discord.ann, Ben: discord.ben };
  const channel = discord.guild.addChannel("ops", { isPrivate: true });
  for (const who of [discord.ann, discord.ben, discord.bot]) channel.permit(who, { allow: ["ViewChannel"] });
  const role = discord.guild.addRole("crew");
  for (const who of [discord.ann, discord.ben]) who.setRoles(discord.guild, [role]);
  const isCard = ({ components }: SeenOnDiscord) => components?.some(({ type }) => type !== 1) === true;
  return {
    ben: discord.ben.id,
    conversation: `discord:${discord.guild.id}:${channel.id}`,
    env: { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    access: { discord: { access: { roles: [role.id] } } },
    admit: (who, isAdmitted) => people[who].setRoles(discord.guild, isAdmitted ? [role] : []),
    connect: async () => {},
    close: () => discord.stop(),
    leave: async (who) => channel.permit(people[who], { deny: ["ViewChannel"] }),
    return: async (who) => channel.permit(people[who], { allow: ["ViewChannel"] }),
    async ask(text, by = "Ann") {
      const said = people[by].say(`${discord.bot.mention} ${text}`, { in: channel });
      const own = () => {
        const thread = channel.threads().find(({ id }) => id === said.id);
        return (thread?.messages() ?? []).filter(({ author, type }) => author.id === discord.bot.id && type !== 21);
      };
      return {
        answers: async () =>
          own()
            .flatMap((message) => (isCard(message) ? [] : [message.content]))
            .join("\n"),
        cards: async () =>
          own()
            .filter(isCard)
            .map((message) => ({ text: rendered(message).text, buttons: message.buttons.map(({ label }) => label) })),
        async press(button, who = "Ann") {
          const card = await discord.until(() => own().findLast(isCard), untilMs);
          const id = card.buttons.find(({ label }) => label === button)?.customId ?? "";
          const click = people[who].press(card, id);
          await discord.until(() => click.state() === "answered", untilMs);
        },
        edit: async (words) => void people[by].edit(said, `${discord.bot.mention} ${words}`),
        async praise(who) {
          const answer = await discord.until(() => own().findLast((message) => !isCard(message)), untilMs);
          people[who].react(answer, "👍");
        },
        async say(more) {
          const thread = await discord.until(() => channel.threads().find(({ id }) => id === said.id), untilMs);
          people[by].say(more, { in: thread });
        },
      };
    },
  };
}

async function createPageDriver(): Promise<CallsDriver> {
  const people = {} as Record<"Ann" | "Ben", ChatClient>;
  return {
    ben: "ben",
    conversation: "local:channel:general",
    env: {},
    async connect({ url, token }) {
      people.Ann = await createChatClient(url, token);
      people.Ben = await createChatClient(url, token, "ben");
    },
    async close() {
      for (const client of Object.values(people)) client.close();
    },
    async ask(text, by = "Ann") {
      const said = await people[by].say(`@remora ${text}`);
      const own = () =>
        [...people.Ann.seen.values()]
          .filter(({ author, thread, isDeleted }) => author.isBot && thread === said.id && !isDeleted)
          .toSorted((one, other) => one.sequence - other.sequence);
      const labels: Record<string, string> = { approve: "Approve", deny: "Deny" };
      return {
        answers: async () =>
          own()
            .flatMap(({ type, text: words }) => (type === "message" ? [words] : []))
            .join("\n"),
        cards: async () =>
          own().flatMap(({ card }) => {
            const [item] = card?.items ?? [];
            if (item === undefined) return [];
            return [{ text: JSON.stringify(item), buttons: item.choices.map((choice) => labels[choice] ?? choice) }];
          }),
        async press(button, who = "Ann") {
          const card = own().findLast(({ type }) => type === "card");
          const [choice] = Object.entries(labels).find(([, label]) => label === button) ?? [];
          if (card !== undefined && (choice === "approve" || choice === "deny")) await people[who].click(card, choice);
        },
        say: async (more) => void (await people[by].say(more, { channel: "general", thread: said.id })),
        async edit(words) {
          const body = { person: by.toLowerCase(), text: `@remora ${words}` };
          await people[by].request("PATCH", `/local/api/messages/${said.id}`, body);
        },
        async praise(who) {
          const { id: messageId } = own().findLast(({ type }) => type === "message") ?? said;
          await people[who].request("POST", "/local/api/footer", {
            person: who.toLowerCase(),
            messageId,
            action: "good",
          });
        },
      };
    },
  };
}

describe("approved calls on Slack", () => {
  tellApprovedCalls(createSlackDriver);
});

describe("approved calls on Discord", () => {
  tellApprovedCalls(createDiscordDriver);
});

describe("approved calls on the page", () => {
  tellApprovedCalls(createPageDriver);
});
