/** Messages are edited and deleted here, by people and by the application. */
import { MessageFlags, PermissionFlagsBits } from "discord.js";
import { refusal, wrongField } from "./api-error.ts";
import { announceDeletion, announceMessage } from "./events.ts";
import { isThread } from "./lookups.ts";
import { type AllowedMentions, defaultMentions, mentionsOf } from "./mentions.ts";
import { type MessageDraft, settableFlags } from "./message-form.ts";
import { newAttachments, textOf, writtenTypes } from "./messages.ts";
import { demand } from "./permissions.ts";
import { demandActive } from "./threads.ts";
import type { AttachmentRecord, ChannelRecord, MessageRecord, World } from "./world.ts";

/** Changes a message; what the form does not mention stays. `by` is the editor, whom others' words do not belong to. */
export function editWithDraft(
  world: World,
  channel: ChannelRecord,
  message: MessageRecord,
  draft: MessageDraft,
  options: { by: string; isInteraction?: boolean },
): MessageRecord {
  const { by, isInteraction = false } = options;
  if (!isInteraction) demandEditing(world, channel, message, draft, by);
  if (isBecomingLayout(message, draft)) {
    const message = "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2";
    throw wrongField(["content"], "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", message);
  }
  const attachments = editedAttachments(world, message, draft);
  const next = {
    content: draft.content ?? message.content,
    embeds: draft.embeds ?? message.embeds,
    components: draft.components ?? message.components,
    attachments,
  };
  if (Object.values(next).every((part) => part.length === 0)) throw refusal("emptyMessage");
  if (draft.content !== undefined) message.earlierContents.push(message.content);
  if (draft.content !== undefined || draft.components !== undefined) {
    const allowed = draft.allowedMentions ?? defaultMentions(isInteraction);
    const answered = repliedTo(world, message, allowed);
    message.mentions = mentionsOf(world, channel, { id: message.authorId }, textOf(next), allowed, answered);
  }
  Object.assign(message, next);
  if (draft.flags !== undefined) {
    const kept = message.flags & ~settableFlags.edit;
    message.flags = kept | (draft.flags & (settableFlags.edit | MessageFlags.IsComponentsV2));
  }
  // The first edit of a deferred answer is the answer, not a change of it.
  const wasLoading = (message.flags & MessageFlags.Loading) !== 0;
  message.flags &= ~MessageFlags.Loading;
  if (!wasLoading && touchesText(draft)) message.editedAt = world.clock.now();
  announceMessage(world, "MESSAGE_UPDATE", channel, message);
  world.changed();
  return message;
}

/** An edit can switch a message to components only if it also empties its text and embeds. */
function isBecomingLayout(message: MessageRecord, draft: MessageDraft): boolean {
  if (((draft.flags ?? 0) & MessageFlags.IsComponentsV2) === 0) return false;
  return (draft.content ?? message.content) !== "" || (draft.embeds ?? message.embeds).length > 0;
}

export function isLayout(message: MessageRecord): boolean {
  return (message.flags & MessageFlags.IsComponentsV2) !== 0;
}

function touchesText(draft: MessageDraft): boolean {
  const parts = [draft.content, draft.embeds, draft.components, draft.attachments];
  return draft.files.length > 0 || parts.some((part) => part !== undefined);
}

function demandEditing(
  world: World,
  channel: ChannelRecord,
  message: MessageRecord,
  draft: MessageDraft,
  by: string,
): void {
  demand(world, by, channel);
  if (!writtenTypes.includes(message.type)) throw refusal("systemMessage");
  if (message.authorId !== by) {
    if (touchesText(draft)) throw refusal("notTheAuthor");
    demand(world, by, channel, PermissionFlagsBits.ManageMessages);
  }
  demandActive(channel);
  if (draft.embeds !== undefined && draft.embeds.length > 0) demand(world, by, channel, PermissionFlagsBits.EmbedLinks);
  if (draft.files.length > 0) demand(world, by, channel, PermissionFlagsBits.AttachFiles);
}

function repliedTo(world: World, message: MessageRecord, allowed: AllowedMentions): string | undefined {
  const { reference } = message;
  if (message.type !== 19 || !allowed.repliedUser || reference?.messageId === undefined) return undefined;
  return world.channels.get(reference.channelId)?.messages.get(reference.messageId)?.authorId;
}

/** With `attachments` in the form only those in it stay; without, new files come to the old ones. */
function editedAttachments(world: World, message: MessageRecord, draft: MessageDraft): AttachmentRecord[] {
  const kept =
    draft.attachments === undefined
      ? message.attachments
      : message.attachments.filter(({ id }) => draft.attachments?.some((entry) => entry.id === id));
  return [...kept, ...newAttachments(world, draft, message.onlyFor !== undefined)];
}

/** Deletes messages; replies and lists no longer find them. */
export function removeMessages(world: World, channel: ChannelRecord, ids: string[]): void {
  const gone = ids.filter((id) => channel.messages.has(id));
  const visible = gone.filter((id) => channel.messages.get(id)?.onlyFor === undefined);
  for (const id of gone) channel.messages.delete(id);
  if (isThread(channel)) channel.thread.messageCount -= visible.length;
  if (visible.length > 0) announceDeletion(world, channel, visible);
  world.changed();
}

export function demandDeleting(world: World, channel: ChannelRecord, message: MessageRecord, by: string): void {
  demand(world, by, channel);
  if (message.authorId === by) return;
  if (channel.guildId === undefined) throw refusal("notOnDms");
  demand(world, by, channel, PermissionFlagsBits.ManageMessages);
}
