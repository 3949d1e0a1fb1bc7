/**
 * Converts a Discord message to an inbound message. Looks up the author's roles, which messages from REST lack. Ignores
 * webhooks, system messages, bots that are not allowed, and the bot's own messages except questions by `/remora ask`.
 */
import { type APIAttachment, ChannelType, MessageFlags, MessageType } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Attachment, Author, InboundMessage } from "../../../ports/message.ts";
import { type ChannelFacts, type Channels, isThread } from "../api/channels.ts";
import type { GuildRoles } from "../api/own-guilds.ts";
import { authorOf, type People } from "../api/people.ts";
import { type DiscordConversation, messageLink, placeOf } from "../conversation-id.ts";
import { escapePlain } from "../outbound/plain-text.ts";
import { attachmentsOf, fileAttachment } from "./attachments.ts";
import { joined } from "./fields.ts";
import { noAuthorId, type RawMessage } from "./raw-message.ts";
import { idsIn, leadingMention, type Names, namesIn, readableText, withoutLeadingMention } from "./readable-text.ts";
import { isServiceMessage } from "./service-messages.ts";
import { filesOf, type ShownParts, shownParts, wholeText } from "./shown-message.ts";

export interface InboundContext {
  botId(): string;
  roles(guildId: string): Promise<GuildRoles>;
  channels: Channels;
  people: People;
  isOwnThread(threadId: string): boolean;
  replyIn: "thread" | "channel";
  isAllowedBot(id: string): boolean;
  /** The files that were given to a command, which its message lacks. */
  givenFiles(interactionId: string): Promise<APIAttachment[]>;
}

/** Prefix of the question that `/remora ask` posts. Discord shows everything after it as a quote. */
export const askMark = ">>> ";
/** The last line of a question with files. Nobody can write a line break in a command. */
const filesLine = /\n-# With [^\n]*$/;
const maxNamesLength = 40;

/** What `/remora ask` posts for everybody, with the names of its files. */
export function askContent(text: string, files: readonly APIAttachment[]): string {
  const names = shorten(files.map(({ filename }) => filename).join(", "), maxNamesLength);
  return askMark + text + (files.length === 0 ? "" : `\n-# With ${escapePlain(names)}`);
}

export async function readInbound(raw: RawMessage, context: InboundContext): Promise<InboundMessage | undefined> {
  const speaker = speakerOf(raw, context);
  if (speaker === undefined) return undefined;
  const guildId = raw.guild_id;
  const { facts, conversation, isDirect, isAddressed } = await meantBy(raw, speaker.isAsked, context);
  const hasRoles = !isAddressed || speaker.author.isBot || (raw.member !== undefined && !speaker.isAsked);
  const roles = hasRoles ? speaker.author.roles : await context.people.roles(guildId, speaker.author.id);
  const author = { ...speaker.author, roles };
  return {
    id: raw.id,
    ...placeOf(conversation, author.id, facts?.type === ChannelType.PrivateThread),
    author,
    ...(await contentOf(raw, isAddressed, conversation, context)),
    isAddressed,
    isDirect,
    ...(facts !== undefined && isThread(facts) ? { isInThread: true } : {}),
    ...visibility(raw, facts),
    at: Date.parse(raw.timestamp),
  };
}

async function meantBy(raw: RawMessage, isAsked: boolean, context: InboundContext) {
  const guildId = raw.guild_id;
  const facts = guildId === undefined ? undefined : await context.channels.get(raw.channel_id);
  const conversation = conversationOf(raw, guildId, facts, context);
  const isDirect = conversation.type === "dm";
  const isAddressed = isDirect || isAsked || (await isMeant(raw, facts, guildId, context));
  return { facts, conversation, isDirect, isAddressed };
}

/** What a message says by now. Undefined if nobody's word. */
export async function readChanged(
  raw: RawMessage,
  context: InboundContext,
): Promise<Pick<InboundMessage, "text" | "attachments" | "isAddressed"> | undefined> {
  const speaker = speakerOf(raw, context);
  if (speaker === undefined) return undefined;
  const { conversation, isAddressed } = await meantBy(raw, speaker.isAsked, context);
  return { ...(await contentOf(raw, isAddressed, conversation, context)), isAddressed };
}

/** The author's own words, and what else the message shows. To somebody else, all of it is text: nobody opens its files. */
async function contentOf(
  raw: RawMessage,
  isAddressed: boolean,
  conversation: DiscordConversation,
  context: InboundContext,
) {
  const parts = shownParts(raw);
  const all = joined([wholeText(parts), ...parts.forwarded.map(({ text }) => text), parts.answered?.text ?? ""]);
  const [names, own] = await namesOf(raw, all, context);
  const readable = (text: string) => readableText(text, names);
  const ofAsk = isAsk(raw, context) ? raw.content.slice(askMark.length).replace(filesLine, "") : undefined;
  const said = withoutLeadingMention(isAddressed ? parts.words : wholeText(parts), own);
  const text = readable(ofAsk ?? said);
  if (!isAddressed) return { text, attachments: [] };
  const shown = isKnown(raw, parts, conversation, context) ? { ...parts, answered: undefined } : parts;
  const attachments = [...(await given(raw, context)), ...attachmentsOf(shown, readable)];
  return { text, attachments: ofAsk === undefined ? attachments : await given(raw, context) };
}

/** In an existing conversation, the bot's own words are already in the history, so they are not quoted again. */
function isKnown(
  raw: RawMessage,
  { answered }: ShownParts,
  conversation: DiscordConversation,
  context: InboundContext,
) {
  return answered?.byId === context.botId() && (conversation.type === "dm" || conversation.thread !== raw.id);
}

/** With the ids of the bot and of its role. */
async function namesOf(raw: RawMessage, said: string, context: InboundContext): Promise<[Names, string[]]> {
  const roles = await rolesIn(said, raw.guild_id, context);
  const { channels } = idsIn(said);
  const facts = await Promise.all(channels.slice(0, 20).map((id) => context.channels.get(id)));
  const channelNames = new Map(facts.map((each) => [each?.id, each?.name || undefined]));
  const names = {
    ...namesIn(raw),
    role: (id: string) => roles?.names.get(id),
    channel: (id: string) => channelNames.get(id),
  };
  return [names, ownIds(roles, context)];
}

function speakerOf(raw: RawMessage, context: InboundContext): { author: Author; isAsked: boolean } | undefined {
  const { author, interaction_metadata } = raw;
  if (isAsk(raw, context) && interaction_metadata !== undefined)
    return { author: authorOf(interaction_metadata.user), isAsked: true };
  if (author.id === context.botId() || raw.webhook_id !== undefined) return undefined;
  if (author.id === noAuthorId || isServiceMessage({ ...raw }) || isOfCommand(raw)) return undefined;
  if (author.bot && !context.isAllowedBot(author.id)) return undefined;
  return { author: authorOf(author, raw.member), isAsked: false };
}

async function given(raw: RawMessage, context: InboundContext): Promise<Attachment[]> {
  const { interaction_metadata: command } = raw;
  if (!isAsk(raw, context) || command === undefined) return [];
  const files = await context.givenFiles(command.id);
  return filesOf({ ...raw, attachments: files }).map(fileAttachment);
}

function isOfCommand({ type }: RawMessage): boolean {
  return type === MessageType.ChatInputCommand || type === MessageType.ContextMenuCommand;
}

function isAsk({ author, type, content, flags }: RawMessage, { botId }: InboundContext): boolean {
  const isPublicCommand = type === MessageType.ChatInputCommand && ((flags ?? 0) & MessageFlags.Ephemeral) === 0;
  return author.id === botId() && isPublicCommand && content.startsWith(askMark);
}

function conversationOf(
  raw: RawMessage,
  guild: string | undefined,
  facts: ChannelFacts | undefined,
  context: InboundContext,
): DiscordConversation {
  const channel = raw.channel_id;
  if (guild === undefined) return { type: "dm", channel };
  if (facts !== undefined && isThread(facts))
    return { type: "guild", guild, channel: facts.parentId ?? channel, thread: channel };
  return { type: "guild", guild, channel, thread: context.replyIn === "thread" ? rootOf(raw, context) : null };
}

/** Without threads, a reply to an answer joins its question's conversation. The root's id is also the thread's. */
function rootOf({ id, referenced_message: answered }: RawMessage, { botId }: InboundContext): string {
  const isToBot = answered?.author?.id === botId();
  return (isToBot ? answered.message_reference?.message_id : undefined) ?? id;
}

async function isMeant(
  raw: RawMessage,
  facts: ChannelFacts | undefined,
  guildId: string | undefined,
  context: InboundContext,
): Promise<boolean> {
  if (raw.mentions.some(({ id }) => id === context.botId())) return true;
  // People may mention the bot's role instead. If the role can't be mentioned, its mention appears only in the text.
  const own = ownIds(await rolesIn(raw.content, guildId, context), context);
  if (idsIn(raw.content).roles.some((id) => own.includes(id))) return true;
  if (raw.type === MessageType.Reply && raw.referenced_message?.author?.id === context.botId()) return true;
  if (raw.author.bot || facts === undefined || !isThread(facts)) return false;
  const isOwn = facts.ownerId === context.botId() || context.isOwnThread(facts.id);
  // A message that starts with another person's mention is for that person, not for the bot.
  return isOwn && leadingMention(raw.content) === undefined;
}

/** A channel that can't be looked up could be a private thread. */
function visibility(
  { guild_id: guildId, channel_id: channel, id }: RawMessage,
  facts: ChannelFacts | undefined,
): Pick<InboundMessage, "isPrivate" | "link"> {
  if (guildId === undefined) return {};
  const isPrivate = facts === undefined || facts.type === ChannelType.PrivateThread;
  return { ...(isPrivate ? { isPrivate } : {}), link: messageLink(guildId, channel, id) };
}

/** Undefined if the text mentions no role. */
async function rolesIn(
  text: string,
  guildId: string | undefined,
  context: InboundContext,
): Promise<GuildRoles | undefined> {
  return guildId === undefined || idsIn(text).roles.length === 0 ? undefined : await context.roles(guildId);
}

function ownIds(roles: GuildRoles | undefined, { botId }: InboundContext): string[] {
  return roles?.own === undefined ? [botId()] : [botId(), roles.own];
}
