/**
 * Clicks, forms and slash commands. Each is answered to Discord at once, within its three seconds and before anything is decided;
 * what came of it is then shown to the person alone.
 *
 *   approve, deny, allow, a picked option   → acknowledged, handed in, receipt
 *   edit                                    → the form, which can be nothing but the first answer; then as above
 *   /remora ask                             → posted for all to see, then read like any message
 *   /remora …                               → acknowledged, handed in, receipt
 *
 * A click counts also when Discord does not take its answer any more: the card shows what came of it.
 */
import {
  type APIInteraction,
  type APIMessage,
  type APIMessageComponentInteraction,
  type APIModalSubmitInteraction,
  type APIUser,
  ApplicationCommandOptionType,
  ComponentType,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  Routes,
} from "discord.js";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Author, CommandReceipt } from "../../core/message.ts";
import type { PlatformHandlers } from "../../core/platform.ts";
import { saidByCommand } from "../../core/said-by-command.ts";
import { type DiscordApi, isRefusal } from "./api.ts";
import { type Channels, factsOf, isThread } from "./channels.ts";
import { commandName, textOption } from "./commands.ts";
import { type DiscordConversation, formatConversationId, scopeOf } from "./conversation-id.ts";
import { type ButtonId, parseButtonId } from "./custom-id.ts";
import { editedJson, editForm } from "./edit-form.ts";
import type { EditTexts } from "./edit-texts.ts";
import { askMark, type RawMessage } from "./inbound.ts";
import { noMentions } from "./messages.ts";
import { allParts, messageLimit, mostMessages } from "./parts.ts";
import { authorOf } from "./people.ts";
import { escapePlain } from "./plain-text.ts";
import { createRecent } from "./recent.ts";

export interface InteractionsOptions {
  api: DiscordApi;
  channels: Channels;
  handlers: PlatformHandlers;
  editTexts: EditTexts;
  /** What `/remora ask` has posted; it comes over the gateway as well. */
  onAsked(message: RawMessage): void;
  log: Log;
}

const longestAcknowledgementMs = 2_800;

export interface Interactions {
  /** Never rejects. */
  take(interaction: APIInteraction): Promise<void>;
}

const notMine: CommandReceipt = privately("This button is not valid any more. If it is still needed, ask again.");
const notTaken: CommandReceipt = privately(
  "That could not be taken: something failed on my side. Nothing was decided; try again.",
);

const tooLong: CommandReceipt = privately("That is too long for a command. Mention me in a message with it instead.");

/** Receipts of clicks are plain text. */
function privately(text: string): CommandReceipt {
  return { text: escapePlain(text), isPrivate: true };
}

export function createInteractions(options: InteractionsOptions): Interactions {
  const { api, channels, handlers, editTexts, onAsked, log } = options;
  const taken = createRecent<true>(1_000);

  /** The first answer; undefined when Discord has taken none. */
  async function respond(interaction: APIInteraction, body: object): Promise<APIMessage | undefined> {
    const route = Routes.interactionCallback(interaction.id, interaction.token);
    const query = { with_response: "true" };
    try {
      type Answer = { resource?: { message?: APIMessage } } | undefined;
      // After Discord's three seconds nobody waits for it any more, and what was clicked has to count.
      const signal = AbortSignal.timeout(longestAcknowledgementMs);
      const answer = await api.request<Answer>({ method: "POST", route, body, query, withoutToken: true, signal });
      return answer?.resource?.message;
    } catch (thrown) {
      if (isRefusal(thrown, "alreadyAcknowledged")) return undefined;
      log.warn({ interaction: interaction.id, error: messageOf(thrown) }, "an interaction could not be acknowledged");
      throw thrown;
    }
  }

  /** To the person alone. False when it was too late. */
  async function acknowledge(interaction: APIInteraction): Promise<boolean> {
    const type = InteractionResponseType.DeferredChannelMessageWithSource;
    return await respond(interaction, { type, data: { flags: MessageFlags.Ephemeral } }).then(
      () => true,
      () => false,
    );
  }

  async function tell(interaction: APIInteraction, { text: markdown, isPrivate }: CommandReceipt): Promise<void> {
    const parts = allParts(markdown);
    const isFile = parts.length > mostMessages;
    const files = isFile ? [{ name: "answer.md", data: markdown }] : [];
    for (const [index, content] of (isFile ? parts.slice(0, 1) : parts.length === 0 ? ["Done."] : parts).entries()) {
      const isFirst = index === 0;
      await api.request({
        method: isFirst ? "PATCH" : "POST",
        route: isFirst
          ? Routes.webhookMessage(interaction.application_id, interaction.token, "@original")
          : Routes.webhook(interaction.application_id, interaction.token),
        body: {
          content,
          allowed_mentions: noMentions,
          flags: MessageFlags.SuppressEmbeds | (isPrivate ? MessageFlags.Ephemeral : 0),
        },
        ...(isFirst ? { files } : {}),
        withoutToken: true,
      });
    }
  }

  /** Acknowledged first, whatever comes of it; then the receipt. */
  async function withReceipt(interaction: APIInteraction, work: () => Promise<CommandReceipt>): Promise<void> {
    const isAcknowledged = await acknowledge(interaction);
    let receipt: CommandReceipt;
    try {
      receipt = await work();
    } catch (thrown) {
      log.error({ interaction: interaction.id, error: messageOf(thrown) }, "an interaction could not be taken");
      receipt = notTaken;
    }
    if (!isAcknowledged) return;
    try {
      await tell(interaction, receipt);
    } catch (thrown) {
      log.warn({ interaction: interaction.id, error: messageOf(thrown) }, "a receipt could not be shown");
    }
  }

  async function placeOf(interaction: APIInteraction, thread?: string | null): Promise<DiscordConversation> {
    const channel = interaction.channel?.id ?? interaction.channel_id ?? "";
    const guild = interaction.guild_id;
    if (guild === undefined) return { type: "dm", channel };
    const facts = await factsFor(interaction, channel);
    return facts !== undefined && isThread(facts)
      ? { type: "guild", guild, channel: facts.parentId ?? channel, thread: channel }
      : { type: "guild", guild, channel, thread: thread ?? null };
  }

  async function factsFor({ channel }: APIInteraction, id: string) {
    return channel !== undefined && "type" in channel
      ? factsOf(channel as Parameters<typeof factsOf>[0])
      : await channels.get(id);
  }

  async function click(interaction: APIMessageComponentInteraction): Promise<void> {
    const button = parseButtonId(interaction.data.custom_id);
    if (button?.meaning.type === "answer" && button.meaning.choice === "edit")
      return await openForm(interaction, button);
    await withReceipt(interaction, async () => {
      if (button === undefined || interaction.data.component_type !== ComponentType.Button) return notMine;
      return privately(await answer(interaction, button, interaction.message.id));
    });
  }

  async function answer(interaction: APIInteraction, button: ButtonId, messageId: string | undefined): Promise<string> {
    const conversationId = formatConversationId(await placeOf(interaction, button.thread));
    const common = { platform: "discord", conversationId, by: authorOfInteraction(interaction), at: Date.now() };
    const { meaning, id } = button;
    const cardMessage = button.firstMessage ?? messageId;
    const where = cardMessage === undefined ? {} : { messageId: cardMessage };
    switch (meaning.type) {
      case "answer":
        return (await handlers.onAnswer({ ...common, ...where, cardOrApprovalId: id, choice: meaning.choice })).text;
      case "edited": {
        const { components } = (interaction as APIModalSubmitInteraction).data;
        const edited = { choice: "edit" as const, editedJson: editedJson(components) };
        return (await handlers.onAnswer({ ...common, ...where, cardOrApprovalId: id, ...edited })).text;
      }
      case "pick":
        return (await handlers.onPick({ ...common, questionId: id, option: meaning.option })).text;
      default:
        return meaning satisfies never;
    }
  }

  async function openForm(interaction: APIMessageComponentInteraction, button: ButtonId): Promise<void> {
    const json = await editTexts.find(button.id);
    if (json === undefined) {
      // Nothing to begin with: whether it is settled, or edited no more, the rules say better.
      await withReceipt(interaction, async () => privately(await answer(interaction, button, interaction.message.id)));
      return;
    }
    const { thread, firstMessage } = button;
    const place = firstMessage === undefined ? { thread } : { thread, firstMessage };
    const data = editForm({ approvalId: button.id, ...place, json });
    await respond(interaction, { type: InteractionResponseType.Modal, data }).catch(() => {});
  }

  async function submit(interaction: APIModalSubmitInteraction): Promise<void> {
    const button = parseButtonId(interaction.data.custom_id);
    await withReceipt(interaction, async () =>
      button?.meaning.type === "edited"
        ? privately(await answer(interaction, button, interaction.message?.id))
        : notMine,
    );
  }

  async function command(interaction: Extract<APIInteraction, { type: InteractionType.ApplicationCommand }>) {
    const { name, rest } = commandFrom(interaction.data);
    const said = saidByCommand(name, rest);
    if (said !== undefined) return await ask(interaction, said);
    await withReceipt(interaction, async () => {
      const conversation = await placeOf(interaction);
      const by = authorOfInteraction(interaction);
      return await handlers.onCommand({
        platform: "discord",
        conversationId: formatConversationId(conversation),
        scope: scopeOf(conversation, by.id),
        ...(conversation.type === "guild" ? { channelId: conversation.channel, spaceId: conversation.guild } : {}),
        ...{ name, rest, by, at: Date.now() },
      });
    });
  }

  /** The post is what counts as said: it comes back over the gateway too, also when this process dies right now. */
  async function ask(interaction: APIInteraction, text: string): Promise<void> {
    const content = askMark + text;
    // Only by a command that was registered before it had its limit.
    if (content.length > messageLimit) return await withReceipt(interaction, async () => tooLong);
    const data = { content, allowed_mentions: noMentions, flags: MessageFlags.SuppressEmbeds };
    const type = InteractionResponseType.ChannelMessageWithSource;
    const posted = await respond(interaction, { type, data }).catch(() => undefined);
    if (posted === undefined) return;
    const guild = interaction.guild_id === undefined ? {} : { guild_id: interaction.guild_id };
    onAsked({ ...posted, ...guild });
  }

  return {
    async take(interaction) {
      // The gateway may bring one again after a cut; done twice, its second receipt would hide the first.
      if (taken.has(interaction.id)) return;
      taken.set(interaction.id, true);
      try {
        switch (interaction.type) {
          case InteractionType.MessageComponent:
            return await click(interaction);
          case InteractionType.ModalSubmit:
            return await submit(interaction);
          case InteractionType.ApplicationCommand:
            return interaction.data.name === commandName ? await command(interaction) : undefined;
          case InteractionType.Ping:
          case InteractionType.ApplicationCommandAutocomplete:
            return;
          default:
            return interaction satisfies never;
        }
      } catch (thrown) {
        log.error({ error: messageOf(thrown) }, "an interaction failed");
      }
    },
  };
}

interface CommandOption {
  name: string;
  type: ApplicationCommandOptionType;
  value?: unknown;
  options?: CommandOption[];
}

function commandFrom(data: object): { name: string; rest: string } {
  const [sub] = ("options" in data ? (data.options ?? []) : []) as CommandOption[];
  if (sub?.type !== ApplicationCommandOptionType.Subcommand) return { name: "", rest: "" };
  const text = sub.options?.find(({ name }) => name === textOption)?.value;
  return { name: sub.name, rest: typeof text === "string" ? text : "" };
}

function authorOfInteraction({ member, user }: APIInteraction): Author {
  return member === undefined ? authorOf(user as APIUser) : authorOf(member.user, member);
}
