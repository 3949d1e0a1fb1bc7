import {
  type ButtonMeaning,
  formatButtonId,
  parseButtonId,
} from "../../../src/platforms/discord/interactions/custom-id.ts";
import { choiceLabel } from "../../../src/platforms/shared/card-choices.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";
import type { Platform } from "../../../src/ports/platform.ts";
import { describePlatform } from "../../conformance/platform.ts";
import { describePlatformAttacks } from "../../conformance/platform-attacks.ts";
import { type ChangesWorld, describePlatformChanges } from "../../conformance/platform-changes.ts";
import type { Saying, ShownMessage } from "../../conformance/platform-world.ts";
import type { Person } from "../../doubles/discord/people.ts";
import type { InteractionHandle } from "../../doubles/discord/people-interactions.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { rendered } from "./rendering.ts";

const eyes = "👀";

describePlatform("discord", async () => createWorld(await openDiscordBot({ ackReaction: eyes })));
describePlatformAttacks("discord", async () => createWorld(await openDiscordBot({ ackReaction: eyes })));
describePlatformChanges("discord", async () => createWorld(await openDiscordBot({ ackReaction: eyes })));

function createWorld(bot: DiscordBot): ChangesWorld {
  const { discord } = bot;
  const people = new Map<string, Person>([["Ann", discord.ann]]);
  const passed = new Set<string>();
  let mention: SeenMessage | undefined;
  let said: SeenMessage | undefined;
  let isInThread = false;

  function personOf(name: string): Person {
    const known = people.get(name) ?? discord.addPerson(name);
    people.set(name, known);
    return known;
  }

  function threadOf(message: SeenMessage | undefined): ChannelHandle | undefined {
    return message === undefined ? undefined : discord.channel.threads().find(({ id }) => id === message.id);
  }

  /** As people see it: the reaction for what will be answered; else by what would not be asked for again after a restart. */
  async function acknowledged({ id, channelId }: SeenMessage, from: number): Promise<void> {
    await discord.until(() => {
      const problem = bot.logged.slice(from).find(({ fields }) => "name" in fields && fields.name === channelId);
      if (problem !== undefined) throw new Error(problem.message);
      if (readUpTo(channelId) >= BigInt(id)) return true;
      return discord.message({ id, channelId })?.reactions.some(({ emoji }) => emoji === eyes);
    });
  }

  function readUpTo(channelId: string): bigint {
    const kept = bot.store.values.get("discord:cursors") as { places: [string, string, string][] } | undefined;
    return BigInt(kept?.places.find(([id]) => id === channelId)?.[2] ?? 0);
  }

  async function say({ text, where, as = "Ann" }: Saying): Promise<void> {
    const person = personOf(as);
    const from = bot.logged.length;
    if (where === "thread" && mention !== undefined) {
      const thread = threadOf(mention) ?? discord.ann.startThread(mention, "a thread");
      said = person.say(text, { in: thread });
    } else if (where === "mention") {
      said = person.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
      mention = said;
    } else {
      said = person.say(text, { in: where === "dm" ? "dm" : discord.channel });
    }
    isInThread = where === "thread" || where === "mention";
    await acknowledged(said, from);
  }

  /** What the service sends afterwards has come through. */
  async function repeat(): Promise<void> {
    if (said === undefined) throw new Error("nothing was said");
    discord.gateway.repeat("MESSAGE_CREATE", said.id);
    const marker = discord.channelOf(said.channelId).webhookSays("somebody", "a marker");
    discord.channelOf(said.channelId).bulkDelete([marker]);
    await discord.until(() => passed.has(marker.id));
  }

  function conversation(): SeenMessage[] {
    if (said === undefined) return [];
    const start = isInThread ? mention : undefined;
    const thread = threadOf(start);
    if (start === undefined) return discord.channelOf(said.channelId).messages();
    const inThread = (thread?.messages() ?? []).filter(({ type }) => type !== 21);
    return [start, ...inThread, ...discord.channel.messages().filter(({ replyTo }) => replyTo === start.id)];
  }

  function shown(message: SeenMessage): ShownMessage {
    const { text, effects } = rendered(message);
    const offered = message.buttons.flatMap(({ customId = "", label }) => offersOf(customId, label));
    return {
      isAgents: message.author.id === discord.bot.id,
      text,
      choices: offered.map(({ choice }) => choice),
      labels: offered.map(({ label }) => label),
      options: message.buttons.flatMap(({ customId = "", label }) => (isOption(customId) ? [label] : [])),
      files: message.files.map((file) => ({ name: file.name, content: file.text })),
      effects,
    };
  }

  function cardWith(id: string, title: string): SeenMessage {
    const ofAgent = conversation().filter(({ author }) => author.id === discord.bot.id);
    const isFor = ({ customId = "" }: { customId?: string }) => parseButtonId(customId)?.id === id;
    const card =
      ofAgent.find(({ buttons }) => buttons.some(isFor)) ??
      ofAgent.find(({ embeds }) => embeds.some((embed) => embed.title?.startsWith(title))) ??
      ofAgent.findLast(({ embeds, content }) => embeds.length > 0 || content === "");
    if (card === undefined) throw new Error(`no ${title} is shown`);
    return card;
  }

  function press(title: string, meaning: ButtonMeaning, id: string, as = "Ann"): InteractionHandle {
    return personOf(as).press(cardWith(id, title), formatButtonId({ meaning, thread: null, id }));
  }

  /** What they are told, with the files that only they see. */
  async function told(click: InteractionHandle): Promise<string> {
    await discord.until(() => click.state() === "answered");
    const replies = click.replies();
    const files = replies.flatMap((reply) => reply.files.map((file) => file.text));
    return [...replies.map((reply) => rendered(reply).text), ...files].join("\n");
  }

  async function choose(approvalId: string, parts: number[], as = "Ann"): Promise<string> {
    const click = press("Approval", { type: "answer", choice: "part" }, approvalId, as);
    await discord.until(() => click.modal());
    // The client does not send a form without a file; a made-up press on it does.
    if (parts.length === 0) return await told(press("Approval", { type: "chosen" }, approvalId, as));
    return await told(personOf(as).submit(click, { files: parts.map(String) }));
  }

  return {
    get platform(): Platform {
      const { platform } = bot;
      return {
        ...platform,
        connect: (handlers, signal) =>
          platform.connect(
            {
              ...handlers,
              async onDeleted(name, id) {
                passed.add(id);
                await handlers.onDeleted(name, id);
              },
            },
            signal,
          ),
      };
    },
    say,
    repeat,
    async click(id, choice, as = "Ann") {
      const click = press("Approval", { type: "answer", choice }, id, as);
      if (choice !== "allow") return await told(click);
      await discord.until(() => click.modal() ?? (click.state() === "answered" || undefined));
      return await told(click.modal() === undefined ? click : personOf(as).submit(click));
    },
    choose,
    pick: (id, option, as) => told(press("Question", { type: "pick", option }, id, as)),
    shown: async () => conversation().map(shown),
    restart: () => bot.restart(),
    close: bot.close,
  };
}

/** More… offers several choices at once. */
function offersOf(customId: string, label: string): { choice: AnswerChoice; label: string }[] {
  const meaning = parseButtonId(customId)?.meaning;
  if (meaning?.type === "answer") return [{ choice: meaning.choice, label }];
  const more = meaning?.type === "more" ? meaning.choices : [];
  return more.flatMap((choice) => (choice === "reason" ? [] : [{ choice, label: choiceLabel(choice, {}) }]));
}

function isOption(customId: string): boolean {
  return parseButtonId(customId)?.meaning.type === "pick";
}
