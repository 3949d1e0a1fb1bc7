/** What people do, with the events that the service sends for it. Whatever their client would not let them do throws. */
import { type APIEmbed, MessageFlags, PermissionFlagsBits } from "discord.js";
import { demandDeleting, editWithDraft, removeMessages } from "./edit-messages.ts";
import { announceMember, announceTyping } from "./events.ts";
import { channelAt, idOf, type MessageRef, messageAt, type Ref } from "./handles.ts";
import { guildOf, isThread } from "./lookups.ts";
import { defaultMentions, mentionsOf, pingsOf } from "./mentions.ts";
import { snapshotOf } from "./message-payload.ts";
import { addMessage, replyFields } from "./messages.ts";
import { type Acting, createActing } from "./people-interactions.ts";
import { demand, sendingIn } from "./permissions.ts";
import { type ChannelHandle, createChannelHandle } from "./places.ts";
import { addReaction, removeReaction } from "./reactions.ts";
import { typeByName } from "./read-body.ts";
import { dmWith } from "./routes-application.ts";
import { changeRoles } from "./routes-guilds.ts";
import { startThread } from "./start-thread.ts";
import { openForMessage, setArchived } from "./threads.ts";
import { typed } from "./typed.ts";
import { type SeenMessage, seen, seenIn } from "./view.ts";
import type { ChannelRecord, MemberRecord, UserRecord, World } from "./world.ts";

export interface SayOptions {
  /** A channel, a thread, or the DM with the bot. */
  in: Ref | "dm";
  replyTo?: MessageRef;
  /** Whether a reply pings the author of the message it answers. */
  pingsAuthor?: boolean;
  /** A voice note of the mobile app: no text, and one file. */
  voice?: { content: Buffer; seconds: number };
  files?: { name: string; content: string | Buffer; contentType?: string }[];
  /** Without text. The first answer has two votes at once. */
  poll?: { question: string; answers: string[] };
  /** Content that the double knows nothing of, such as a kind that Discord has added. */
  isUnknown?: boolean;
  /** Sent as it is: no `@name` becomes a mention. */
  isVerbatim?: boolean;
  /** Of other bots, which may send them. */
  embeds?: APIEmbed[];
  /** Fields of the message as Discord sends them, in place of the double's own. */
  shape?: object;
}

export interface Person extends Acting {
  id: string;
  name: string;
  /** `<@id>` */
  mention: string;
  say(text: string, options: SayOptions): SeenMessage;
  edit(message: MessageRef, text: string): SeenMessage;
  delete(message: MessageRef): void;
  react(message: MessageRef, emoji: string): void;
  unreact(message: MessageRef, emoji: string): void;
  type(where: Ref | "dm"): void;
  forward(message: MessageRef, options: { in: Ref | "dm" }): SeenMessage;
  /** A thread of a forum, with its first message. */
  post(forum: Ref, title: string, text: string): ChannelHandle;
  /** Of a message, or by itself in a channel. */
  startThread(from: MessageRef | Ref, name: string, options?: { isPrivate?: boolean }): ChannelHandle;
  archive(thread: Ref, options?: { isLocked?: boolean }): void;
  /** The channel that the two have together. */
  dm(): ChannelHandle;
  /** Everything in a channel, and what is shown to this person alone. */
  sees(where: Ref | "dm"): SeenMessage[];
  join(guild: Ref): void;
  leave(guild: Ref): void;
  setRoles(guild: Ref, roles: Ref[]): void;
  setNick(guild: Ref, nick: string | null): void;
  /** Whether the bot may write to this person; a closed one answers 50007. */
  acceptDms(accepts: boolean): void;
}

export function createPerson(world: World, user: UserRecord): Person {
  const at = (where: Ref | "dm") => (where === "dm" ? dmWith(world, user.id) : channelAt(world, where));
  const membership = (guild: Ref): MemberRecord => {
    const member = guildOf(world, idOf(guild)).members.get(user.id);
    if (member === undefined) throw new Error(`${user.username} is not in guild ${idOf(guild)}`);
    return member;
  };
  return {
    ...createActing(world, user.id),
    id: user.id,
    name: user.username,
    mention: `<@${user.id}>`,
    say: (text, options) => say(world, user.id, text, options),
    edit(ref, text) {
      const { channel, message } = messageAt(world, ref);
      const draft = { content: typed(world, channel, text).trim(), isTts: false, enforceNonce: false, files: [] };
      return seen(world, channel, editWithDraft(world, channel, message, draft, { by: user.id }));
    },
    delete(ref) {
      const { channel, message } = messageAt(world, ref);
      demandDeleting(world, channel, message, user.id);
      removeMessages(world, channel, [message.id]);
    },
    react: (ref, emoji) => addReaction(world, ...both(world, ref), user.id, emoji),
    unreact: (ref, emoji) => removeReaction(world, ...both(world, ref), user.id, emoji),
    forward: (ref, options) => forward(world, user.id, ref, at(options.in)),
    post(forum, name, text) {
      const parent = channelAt(world, forum);
      demand(world, user.id, parent, PermissionFlagsBits.SendMessages);
      const content = typed(world, parent, text).trim();
      const mentions = mentionsOf(world, parent, user, content, defaultMentions(false));
      const first = { content, mentions, pings: pingsOf(world, parent, user.id, mentions) };
      const wanted = { name, ownerId: user.id, isPrivate: false, autoArchiveMinutes: 1440, isInvitable: true } as const;
      return createChannelHandle(world, startThread(world, parent, { ...wanted, first }));
    },
    type: (where) => announceTyping(world, at(where), user.id),
    startThread: (from, name, options = {}) =>
      createChannelHandle(world, beginThread(world, user.id, from, name, options)),
    archive(ref, { isLocked = false } = {}) {
      const channel = channelAt(world, ref);
      if (!isThread(channel)) throw new Error(`${channel.name} is no thread`);
      channel.thread.isLocked = isLocked;
      setArchived(world, channel, true);
      world.changed();
    },
    dm: () => createChannelHandle(world, dmWith(world, user.id)),
    sees: (where) => seenIn(world, at(where), { userId: user.id }),
    join(ref) {
      const guild = guildOf(world, idOf(ref));
      const member: MemberRecord = { userId: user.id, nick: null, roleIds: [], joinedAt: world.clock.now() };
      guild.members.set(user.id, member);
      announceMember(world, "GUILD_MEMBER_ADD", guild, member);
    },
    leave(ref) {
      const member = membership(ref);
      const guild = guildOf(world, idOf(ref));
      guild.members.delete(user.id);
      announceMember(world, "GUILD_MEMBER_REMOVE", guild, member);
    },
    setRoles: (ref, roles) => changeRoles(world, guildOf(world, idOf(ref)), membership(ref), roles.map(idOf)),
    setNick(ref, nick) {
      membership(ref).nick = nick;
      announceMember(world, "GUILD_MEMBER_UPDATE", guildOf(world, idOf(ref)), membership(ref));
    },
    acceptDms(accepts) {
      user.acceptsDms = accepts;
    },
  };
}

function both(world: World, ref: MessageRef) {
  const { channel, message } = messageAt(world, ref);
  return [channel, message] as const;
}

function say(world: World, userId: string, text: string, options: SayOptions): SeenMessage {
  const channel = options.in === "dm" ? dmWith(world, userId) : channelAt(world, options.in);
  demand(world, userId, channel, sendingIn(channel));
  openForMessage(world, channel, userId);
  const content = (options.isVerbatim ? text : typed(world, channel, text)).trim();
  const { voice } = options;
  if (voice !== undefined && text !== "") throw new Error("a voice note has no text");
  const note = { name: "voice-message.ogg", content: voice?.content ?? "", contentType: "audio/ogg" };
  const files = [...(options.files ?? []), ...(voice === undefined ? [] : [note])];
  const embeds = options.embeds ?? [];
  const { poll, isUnknown = false } = options;
  const { shape } = options;
  const isEmpty =
    content === "" && files.length + embeds.length === 0 && poll === undefined && !isUnknown && shape === undefined;
  if (isEmpty) throw new Error("a message needs text or a file");
  if (content.length > 4000) throw new Error(`no client sends ${content.length} characters`);
  const answered = options.replyTo === undefined ? undefined : messageAt(world, options.replyTo).message;
  const allowed = { ...defaultMentions(false), repliedUser: options.pingsAuthor ?? true };
  const mentions = mentionsOf(world, channel, { id: userId }, content, allowed, answered?.authorId);
  const message = addMessage(world, channel, {
    authorId: userId,
    content,
    embeds,
    ...(poll === undefined ? {} : { poll }),
    ...(shape === undefined ? {} : { shape }),
    mentions,
    pings: pingsOf(world, channel, userId, mentions),
    nonce: world.nextId(),
    attachments: files.map(({ name, content: bytes, contentType }) => ({
      id: world.nextId(),
      filename: name.replace(/[^\p{L}\p{N}._-]/gu, "_"),
      bytes: Buffer.from(bytes),
      isEphemeral: false,
      ...typeField(contentType ?? typeByName(name)),
      ...(voice === undefined ? {} : { seconds: voice.seconds }),
    })),
    ...(voice === undefined ? {} : { flags: MessageFlags.IsVoiceMessage }),
    ...(answered === undefined ? {} : replyFields(channel, answered)),
  });
  world.changed();
  return seen(world, channel, message);
}

function typeField(contentType: string | undefined): { contentType?: string } {
  return contentType === undefined ? {} : { contentType };
}

function forward(world: World, userId: string, ref: MessageRef, channel: ChannelRecord): SeenMessage {
  const { channel: from, message } = messageAt(world, ref);
  demand(world, userId, channel, sendingIn(channel));
  const guild = from.guildId === undefined ? {} : { guildId: from.guildId };
  const forwarded = addMessage(world, channel, {
    authorId: userId,
    snapshot: snapshotOf(world, message),
    reference: { type: 1, messageId: message.id, channelId: from.id, ...guild },
  });
  world.changed();
  return seen(world, channel, forwarded);
}

function beginThread(
  world: World,
  ownerId: string,
  from: MessageRef | Ref,
  name: string,
  { isPrivate = false }: { isPrivate?: boolean },
) {
  const starter = typeof from === "object" && "channelId" in from ? messageAt(world, from) : undefined;
  const parent = starter?.channel ?? channelAt(world, from);
  const { CreatePrivateThreads, CreatePublicThreads } = PermissionFlagsBits;
  demand(world, ownerId, parent, isPrivate ? CreatePrivateThreads : CreatePublicThreads);
  return startThread(world, parent, {
    name,
    ownerId,
    isPrivate,
    autoArchiveMinutes: 1440,
    isInvitable: true,
    ...(starter === undefined ? {} : { starter: starter.message }),
  });
}
