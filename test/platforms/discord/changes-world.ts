/** A card about changes on the Discord double: one conversation, its reply, and the card as people see it. */
import type { ApprovalCard, CardItem, ShownChange, ShownChanges } from "../../../src/ports/card.ts";
import type { AnswerChoice, InboundMessage } from "../../../src/ports/message.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import type { InteractionHandle } from "../../doubles/discord/people-interactions.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

export interface ChangesWorld {
  bot: DiscordBot;
  discord: DiscordDouble;
  agent: RecordingAgent;
  message: InboundMessage;
  reply: Reply;
  /** The only card there is. */
  card(): SeenMessage;
  /** Of its buttons. */
  labels(): string[];
  /** What the person who clicked is shown. */
  ended(click: InteractionHandle): Promise<SeenMessage>;
  cardOf(changes?: Partial<ShownChanges>, item?: Partial<CardItem>): ApprovalCard;
}

export const files: ShownChange[] = [
  { path: "old/readme.md", action: "deleted", detail: "−30" },
  { path: "src/*index*.ts", action: "changed", detail: "+12 −3" },
  { path: "src/@everyone.ts", action: "added", detail: "+4" },
];

function changesOf(more: Partial<ShownChanges> = {}): ShownChanges {
  return {
    title: "website: 1 file deleted, 1 changed, 1 added",
    summary: "The folder was given by the configuration.",
    files,
    moreFiles: 0,
    commands: [{ text: "npm test", outcome: "exit code 0" }],
    lastOutput: "ok 1\nok 2",
    diff: "--- a/x\n+++ b/x\n-one\n+``` two",
    labels: { approve: "Approve", deny: "Deny" },
    ...more,
  };
}

export async function openChangesWorld(): Promise<ChangesWorld> {
  const bot = await openDiscordBot();
  const { discord } = bot;
  const agent = createRecordingAgent();
  await bot.platform.connect(agent.handlers, new AbortController().signal);
  const said = discord.ann.say(`${discord.bot.mention} clean up`, { in: discord.channel });
  const message = await discord.until(() => agent.kept.find(({ id }) => id === said.id));

  function card(): SeenMessage {
    const all = [discord.channel, ...discord.channel.threads()].flatMap((channel) => channel.messages());
    const [found, ...more] = all.filter(({ author, components }) => {
      return author.id === discord.bot.id && components?.some(({ type }) => type !== 1) === true;
    });
    if (found === undefined || more.length > 0) throw new Error(`there are ${more.length + 1} cards`);
    return found;
  }

  return {
    bot,
    discord,
    agent,
    message,
    reply: bot.platform.reply(targetOf(message), createPosts()),
    card,
    labels: () => card().buttons.map(({ label }) => label),
    async ended(click) {
      await discord.until(() => click.state() === "answered");
      return click.reply() as SeenMessage;
    },
    cardOf(changes = {}, item = {}) {
      const choices: AnswerChoice[] = ["approve", "deny", "allow", "part", "diff"];
      const grantText = "For 30 minutes, changes here are kept without asking.";
      const own = {
        callText: "",
        headline: changesOf(changes).headline ?? changesOf(changes).title,
        why: [],
        choices,
        grantText,
      };
      return createCard(message, { ...own, ...item, changes: changesOf(changes) });
    },
  };
}
