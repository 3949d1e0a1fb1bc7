/**
 * Converts a Discord message to an inbound message. Looks up the author's roles, which messages from REST lack. Ignores
 * webhooks, system messages, bots that are not allowed, and the bot's own messages except questions by `/remora ask`.
 */
import {
  type APIAttachment,
  type APIMessage,
  ChannelType,
  type GatewayMessageCreateDispatchData,
  MessageFlags,
  MessageType,
} from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import type { Attachment, Author, InboundMessage } from "../../../ports/message.ts";
import { type ChannelFacts, type Channels, isThread } from "../api/channels.ts";
import type { GuildRoles } from "../api/own-guilds.ts";
import { authorOf, type People, personName } from "../api/people.ts";
import { type DiscordConversation, messageLink, placeOf } from "../conversation-id.ts";
import { escapePlain } from "../outbound/plain-text.ts";
import { describeAttachments, fileAttachment, quotedMessage } from "./attachments.ts";
import { idsIn, leadingMention, readableText, withoutLeadingMention } from "./readable-text.ts";
import { saidIn } from "./said-text.ts";

/** A message without a `guild_id` is a DM. */
export type RawMessage = APIMessage & Pick<GatewayMessageCreateDispatchData, "guild_id" | "member">;

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
  const facts = guildId === undefined ? undefined : await context.channels.get(raw.channel_id);
  const conversation = conversationOf(raw, guildId, facts, context);
  const isDirect = conversation.type === "dm";
  const isAddressed = isDirect || speaker.isAsked || (await isMeant(raw, facts, guildId, context));
  const hasRoles = !isAddressed || speaker.author.isBot || (raw.member !== undefined && !speaker.isAsked);
  const roles = hasRoles ? speaker.author.roles : await context.people.roles(guildId, speaker.author.id);
  const author = { ...speaker.author, roles };
  return {
    id: raw.id,
    ...placeOf(conversation, author.id, facts?.type === ChannelType.PrivateThread),
    author,
    text: await messageText(raw, guildId, context),
    attachments: isAddressed ? [...(await given(raw, context)), ...attachmentsOf(raw, conversation, context)] : [],
    isAddressed,
    isDirect,
    ...(facts !== undefined && isThread(facts) ? { isInThread: true } : {}),
    ...visibility(raw, facts),
    at: Date.parse(raw.timestamp),
  };
}

export async function messageText(
  raw: RawMessage,
  guildId: string | undefined,
  context: InboundContext,
): Promise<string> {
  const roles = await rolesIn(raw.content, guildId, context);
  const own = ownIds(roles, context);
  const said = isAsk(raw, context)
    ? raw.content.slice(askMark.length).replace(filesLine, "")
    : withoutLeadingMention(saidIn(raw), own);
  const { channels } = idsIn(said);
  const facts = await Promise.all(channels.slice(0, 20).map((id) => context.channels.get(id)));
  const names = new Map(facts.map((each) => [each?.id, each?.name || undefined]));
  const mentioned = new Map(raw.mentions.map((user) => [user.id, personName(user, memberIn(user))]));
  return readableText(said, {
    user: (id) => mentioned.get(id),
    role: (id) => roles?.names.get(id),
    channel: (id) => names.get(id),
  });
}

/** Messages from the gateway include the server membership of mentioned users. */
function memberIn(user: object): { nick?: string | null } | undefined {
  return "member" in user ? (user.member as { nick?: string | null }) : undefined;
}

function speakerOf(raw: RawMessage, context: InboundContext): { author: Author; isAsked: boolean } | undefined {
  const { author, interaction_metadata } = raw;
  if (isAsk(raw, context) && interaction_metadata !== undefined)
    return { author: authorOf(interaction_metadata.user), isAsked: true };
  if (author.id === context.botId() || raw.webhook_id !== undefined) return undefined;
  if (raw.type !== MessageType.Default && raw.type !== MessageType.Reply) return undefined;
  if (author.bot && !context.isAllowedBot(author.id)) return undefined;
  return { author: authorOf(author, raw.member), isAsked: false };
}

async function given(raw: RawMessage, context: InboundContext): Promise<Attachment[]> {
  const { interaction_metadata: command } = raw;
  if (!isAsk(raw, context) || command === undefined) return [];
  return (await context.givenFiles(command.id)).map((file) => fileAttachment(raw, file));
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
  const isToBot = answered?.author.id === botId();
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
  if (raw.type === MessageType.Reply && raw.referenced_message?.author.id === context.botId()) return true;
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

function attachmentsOf(raw: RawMessage, conversation: DiscordConversation, context: InboundContext) {
  const files = describeAttachments(raw);
  const answered = raw.type === MessageType.Reply ? raw.referenced_message : undefined;
  if (!answered) return files;
  // In an existing conversation, the bot's own words are already in the history, so they are not quoted again.
  const isOwn = answered.author.id === context.botId();
  const isKnown = isOwn && (conversation.type === "dm" || conversation.thread !== raw.id);
  return isKnown ? files : [...files, quotedMessage(answered)];
}
