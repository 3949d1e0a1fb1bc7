/**
 * Handles clicks, forms and slash commands. Each is acknowledged within Discord's three seconds, before anything is
 * decided, then passed to the handler and answered with a receipt that only the person sees. Some clicks
 * open a form instead (open-form.ts), because Discord accepts a form only as the first response. `/remora ask` is posted for everybody and then read like any message. A
 * click counts even if Discord no longer accepts its answer, because the card shows the result.
 */
import {
  type APIAttachment,
  type APIChatInputApplicationCommandInteractionData,
  type APIInteraction,
  type APIInteractionDataResolved,
  type APIMessageComponentInteraction,
  type APIModalSubmissionComponent,
  type APIModalSubmitInteraction,
  type APIUser,
  ApplicationCommandOptionType,
  ChannelType,
  ComponentType,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
} from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Author, CommandReceipt } from "../../../ports/message.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import { askText } from "../../shared/ask-text.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import type { DiscordApi } from "../api/api.ts";
import { type Channels, factsOf, isThread } from "../api/channels.ts";
import { authorOf } from "../api/people.ts";
import { type DiscordConversation, formatConversationId, placeOf } from "../conversation-id.ts";
import { fileAttachment } from "../inbound/attachments.ts";
import type { RawMessage } from "../inbound/raw-message.ts";
import { askContent } from "../inbound/read-message.ts";
import { filesOf } from "../inbound/shown-message.ts";
import { maxMessageLength } from "../limits.ts";
import { createEphemeralReplies, privately } from "../outbound/ephemeral-reply.ts";
import { noMentions } from "../outbound/messages.ts";
import { writtenAnswer } from "./answer-form.ts";
import { commandName, textOption } from "./commands.ts";
import { type ButtonId, parseButtonId } from "./custom-id.ts";
import { editedJson } from "./edit-form.ts";
import { chosenFiles } from "./file-form.ts";
import { filesIn } from "./form.ts";
import { chosenPerson } from "./handover-form.ts";
import { writtenReason } from "./more-menu.ts";
import { createFormOpener, isForm, maxLookUpMs } from "./open-form.ts";

export interface InteractionsOptions {
  api: DiscordApi;
  channels: Channels;
  handlers: PlatformHandlers;
  formContents: FormContents;
  /** Keeps the files of a question, before its message is posted. */
  keepFiles(interactionId: string, files: readonly APIAttachment[]): Promise<void>;
  /** Called with the message that `/remora ask` posted, which also arrives over the gateway. */
  onAsked(message: RawMessage): void;
  log: Log;
}

export interface Interactions {
  /** Never rejects. */
  take(interaction: APIInteraction): Promise<void>;
}

const notMine = privately({ text: "This button no longer works. If you still need it, ask me again." });
const notOpen = privately({ text: "This question is no longer open." });
const notAsked = privately({ text: "That didn't work: I couldn't take the file. Nothing was asked. Try again." });
const notPosted = privately({
  text: "That didn't work: I couldn't write your question here. Try again, or mention me.",
});
const tooLong = privately({ text: "That is too long for a command. Mention me in a message instead." });

export function createInteractions(options: InteractionsOptions): Interactions {
  const { channels, handlers, formContents, onAsked, log } = options;
  const replies = createEphemeralReplies(options);
  const { respond, withReceipt } = replies;
  const { openMenu, openForm } = createFormOpener({ replies, formContents, log });
  const taken = createLruMap<true>(1_000);

  async function conversationOf(interaction: APIInteraction, thread?: string | null): Promise<DiscordConversation> {
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
    if (button?.meaning.type === "more") return await openMenu(interaction, button, button.meaning.choices);
    if (button !== undefined && isForm(button)) {
      // The handler says why there is none, for example because the card is already settled.
      return await openForm(interaction, button, () => answer(interaction, button, interaction.message.id));
    }
    await withReceipt(interaction, async () => {
      if (button === undefined || interaction.data.component_type !== ComponentType.Button) return notMine;
      return await answer(interaction, button, interaction.message.id);
    });
  }

  async function answer(interaction: APIInteraction, button: ButtonId, messageId?: string): Promise<CommandReceipt> {
    const conversationId = formatConversationId(await conversationOf(interaction, button.thread));
    const common = { platform: "discord", conversationId, by: authorOfInteraction(interaction), at: Date.now() };
    const { meaning, id } = button;
    const cardMessage = button.firstMessage ?? messageId;
    const card = { ...common, ...(cardMessage === undefined ? {} : { messageId: cardMessage }), cardOrApprovalId: id };
    switch (meaning.type) {
      case "answer":
        return privately(await handlers.onAnswer({ ...card, choice: meaning.choice }));
      case "edited": {
        const edited = editedJson(submittedIn(interaction));
        return privately(await handlers.onAnswer({ ...card, choice: "edit", editedJson: edited }));
      }
      case "chosen": {
        const parts = chosenFiles(submittedIn(interaction));
        if (parts.length === 0) return await noneChosen(id);
        return privately(await handlers.onAnswer({ ...card, choice: "part", parts }));
      }
      case "handed": {
        const to = chosenPerson(submittedIn(interaction));
        return privately(await handlers.onAnswer({ ...card, choice: "handover", to }));
      }
      case "denied": {
        const reason = writtenReason(submittedIn(interaction));
        return privately(await handlers.onAnswer({ ...card, choice: "deny", ...(reason === "" ? {} : { reason }) }));
      }
      case "allowed":
        return privately(await handlers.onAnswer({ ...card, choice: "allow" }));
      case "written": {
        const files = filesIn(submittedIn(interaction), resolvedIn(interaction));
        const from = { channel_id: interaction.channel?.id ?? "", id: messageId ?? "" };
        const attachments = filesOf({ ...from, attachments: files }).map(fileAttachment);
        const said = { text: writtenAnswer(submittedIn(interaction)), attachments };
        return privately(await handlers.onPick({ ...common, questionId: id, said }));
      }
      case "write":
        return notOpen;
      case "reason":
      case "more":
        return notMine;
      case "pick":
        return privately(await handlers.onPick({ ...common, questionId: id, option: meaning.option }));
      case "footer": {
        const { platform, by, at: now } = common;
        const shown = messageId === undefined ? {} : { messageId };
        const said = await handlers.onFooter({ platform, by, at: now, ...shown, turnId: id, action: meaning.choice });
        return { text: said.text, isPrivate: true, ...(said.file === undefined ? {} : { file: said.file }) };
      }
      default:
        return meaning satisfies never;
    }
  }

  async function noneChosen(approvalId: string): Promise<CommandReceipt> {
    const label = (await formContents.files(approvalId))?.denyLabel ?? "Deny";
    return privately({ text: `You chose no files, so nothing changed. To keep none, use “${label}”.` });
  }

  async function submit(interaction: APIModalSubmitInteraction): Promise<void> {
    const button = parseButtonId(interaction.data.custom_id);
    const isSubmission = button !== undefined && submissions.includes(button.meaning.type);
    await withReceipt(interaction, async () =>
      isSubmission && button !== undefined ? await answer(interaction, button, interaction.message?.id) : notMine,
    );
  }

  async function command(interaction: Extract<APIInteraction, { type: InteractionType.ApplicationCommand }>) {
    const { name, rest, files } = commandFrom(interaction.data as ChatCommand);
    const said = askText(name, rest);
    if (said !== undefined) return await ask(interaction, said, files);
    await withReceipt(interaction, async () => {
      const by = authorOfInteraction(interaction);
      const conversation = await conversationOf(interaction);
      const facts = await factsFor(interaction, interaction.channel?.id ?? "");
      const place = placeOf(conversation, by.id, facts?.type === ChannelType.PrivateThread);
      const isInThread = conversation.type === "guild" && conversation.thread !== null;
      return await handlers.onCommand({ ...place, isInThread, name, rest, by, at: Date.now() });
    });
  }

  /** The posted message is the question: it arrives over the gateway even if this process dies now. */
  async function ask(interaction: APIInteraction, text: string, files: readonly APIAttachment[]): Promise<void> {
    const content = askContent(text, files);
    // Possible only if the command was registered before the limit existed.
    if (content.length > maxMessageLength) return await withReceipt(interaction, async () => tooLong);
    if (files.length > 0 && !(await areKept(interaction.id, files)))
      return await withReceipt(interaction, async () => notAsked);
    const data = { content, allowed_mentions: noMentions, flags: MessageFlags.SuppressEmbeds };
    const type = InteractionResponseType.ChannelMessageWithSource;
    let posted: RawMessage | undefined;
    try {
      posted = await respond(interaction, { type, data });
    } catch {
      return await withReceipt(interaction, async () => notPosted);
    }
    if (posted === undefined) return;
    const guild = interaction.guild_id === undefined ? {} : { guild_id: interaction.guild_id };
    onAsked({ ...posted, ...guild });
  }

  /** Without them, the message would be a question about nothing. */
  async function areKept(id: string, files: readonly APIAttachment[]): Promise<boolean> {
    try {
      const kept = options.keepFiles(id, files).then(() => true);
      return (await withTimeout(maxLookUpMs, kept)) === true;
    } catch (thrown) {
      log.error({ interaction: id, error: messageOf(thrown) }, "could not keep the files of a question");
      return false;
    }
  }

  return {
    async take(interaction) {
      // The gateway may repeat an interaction. A second receipt would replace the first.
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

const submissions: readonly ButtonId["meaning"]["type"][] = [
  "edited",
  "chosen",
  "denied",
  "handed",
  "allowed",
  "written",
];

function submittedIn({ data }: APIInteraction): readonly APIModalSubmissionComponent[] {
  return data !== undefined && "components" in data ? data.components : [];
}

type ChatCommand = Partial<Pick<APIChatInputApplicationCommandInteractionData, "options" | "resolved">>;

function resolvedIn({ data }: APIInteraction): APIInteractionDataResolved | undefined {
  return data !== undefined && "resolved" in data ? (data.resolved as APIInteractionDataResolved) : undefined;
}

interface CommandOption {
  name: string;
  type: ApplicationCommandOptionType;
  value?: unknown;
  options?: CommandOption[];
}

function commandFrom({ options = [], resolved }: ChatCommand): { name: string; rest: string; files: APIAttachment[] } {
  const [sub] = options as CommandOption[];
  if (sub?.type !== ApplicationCommandOptionType.Subcommand) return { name: "", rest: "", files: [] };
  const given = sub.options ?? [];
  const text = given.find(({ name }) => name === textOption)?.value;
  const isFile = ({ type }: CommandOption) => type === ApplicationCommandOptionType.Attachment;
  const files = given.filter(isFile).flatMap(({ value }) => resolved?.attachments?.[String(value)] ?? []);
  return { name: sub.name, rest: typeof text === "string" ? text : "", files };
}

function authorOfInteraction({ member, user }: APIInteraction): Author {
  return member === undefined ? authorOf(user as APIUser) : authorOf(member.user, member);
}
