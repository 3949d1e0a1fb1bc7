/**
 * Interactions: opened by a person's command, click or modal, answered once within three seconds, and followed up with a token
 * that is valid for fifteen minutes.
 * Rule: interaction-times
 */
import { MessageFlags } from "discord.js";
import { createForm, refusal } from "./api-error.ts";
import { editWithDraft, isLayout } from "./edit-messages.ts";
import { choice, isFields } from "./fields.ts";
import { channelOf } from "./lookups.ts";
import { type MessageDraft, readMessage, type UploadedFile } from "./message-form.ts";
import { addMessage, sendDraft } from "./messages.ts";
import { readModal } from "./modal-form.ts";
import type { ChannelRecord, InteractionRecord, MessageRecord, World } from "./world.ts";

const answerMs = 3000;
const tokenMs = 15 * 60_000;

export const callbacks = {
  message: 4,
  deferredMessage: 5,
  deferredUpdate: 6,
  update: 7,
  autocomplete: 8,
  modal: 9,
} as const;

/** Whether the person sees "This interaction failed": nobody has answered in time. */
export function hasFailed(world: World, interaction: InteractionRecord): boolean {
  return interaction.answeredWith === undefined && world.clock.now() - interaction.openedAt > answerMs;
}

/** The interaction that a token in a path stands for. */
export function interactionByToken(world: World, applicationId: string, token: string): InteractionRecord {
  if (applicationId !== world.application.id) throw refusal("unknownWebhook");
  const interaction = world.interactions.get(world.tokens.get(token) ?? "");
  const age = interaction === undefined ? Number.POSITIVE_INFINITY : world.clock.now() - interaction.openedAt;
  if (interaction === undefined || age > tokenMs || hasFailed(world, interaction)) throw refusal("invalidWebhookToken");
  return interaction;
}

/** Which answers an interaction may have. */
function callbackTypes(interaction: InteractionRecord): readonly number[] {
  const { message, deferredMessage, deferredUpdate, update, modal } = callbacks;
  if (interaction.type === 2) return [message, deferredMessage, modal];
  const updates = interaction.sourceId === undefined ? [] : [deferredUpdate, update];
  return [message, deferredMessage, ...updates, ...(interaction.type === 5 ? [] : [modal])];
}

/** Accepts the first response; returns its message, if any. */
export function answerInteraction(
  world: World,
  interaction: InteractionRecord,
  json: unknown,
  files: UploadedFile[],
): { type: number; message?: MessageRecord } {
  if (hasFailed(world, interaction)) throw refusal("unknownInteraction");
  if (interaction.answeredWith !== undefined) throw refusal("alreadyAcknowledged");
  const form = createForm();
  const body = isFields(json) ? json : {};
  const type = choice(form, body.type, ["type"], callbackTypes(interaction));
  form.check();
  const data = isFields(body.data) ? body.data : {};
  const message = take(world, interaction, type ?? 0, data, files);
  interaction.answeredWith = type ?? 0;
  world.changed();
  return { type: type ?? 0, ...(message === undefined ? {} : { message }) };
}

function take(
  world: World,
  interaction: InteractionRecord,
  type: number,
  data: Record<string, unknown>,
  files: UploadedFile[],
): MessageRecord | undefined {
  switch (type) {
    case callbacks.message: {
      const message = say(world, interaction, readMessage(data, files));
      interaction.originalId = message.id;
      return message;
    }
    case callbacks.deferredMessage: {
      const message = defer(world, interaction, readMessage(data, files).flags ?? 0);
      interaction.originalId = message.id;
      interaction.isDeferred = true;
      return message;
    }
    case callbacks.modal:
      interaction.modal = readModal(data);
      return undefined;
    case callbacks.update: {
      const { channel, message } = sourceOf(world, interaction);
      interaction.originalId = message.id;
      return editWithDraft(world, channel, message, readMessage(data, files, isLayout(message)), {
        by: world.application.id,
        isInteraction: true,
      });
    }
    default:
      interaction.isDeferred = true;
      if (interaction.sourceId !== undefined) interaction.originalId = interaction.sourceId;
      return undefined;
  }
}

function sourceOf(world: World, interaction: InteractionRecord): { channel: ChannelRecord; message: MessageRecord } {
  const channel = channelOf(world, interaction.channelId);
  const message = channel.messages.get(interaction.sourceId ?? "");
  if (message === undefined) throw refusal("unknownMessage");
  return { channel, message };
}

/** The fields that messages of an interaction have; a click's answer points to what was clicked. */
function fieldsFor(world: World, interaction: InteractionRecord, isEphemeral: boolean): Partial<MessageRecord> {
  const channel = channelOf(world, interaction.channelId);
  const isFirst = interaction.originalId === undefined;
  const answered = isFirst ? interaction.sourceId : interaction.originalId;
  const guild = channel.guildId === undefined ? {} : { guildId: channel.guildId };
  return {
    type: interaction.type === 2 && isFirst ? 20 : answered === undefined ? 0 : 19,
    applicationId: world.application.id,
    interaction: isFirst
      ? interaction.metadata
      : { ...interaction.metadata, original_response_message_id: interaction.originalId ?? "" },
    ...(answered === undefined ? {} : { reference: { type: 0, messageId: answered, channelId: channel.id, ...guild } }),
    ...(isEphemeral ? { onlyFor: interaction.userId } : {}),
  };
}

function say(world: World, interaction: InteractionRecord, draft: MessageDraft): MessageRecord {
  const isEphemeral = ((draft.flags ?? 0) & MessageFlags.Ephemeral) !== 0;
  const extra = fieldsFor(world, interaction, isEphemeral);
  const channel = channelOf(world, interaction.channelId);
  return sendDraft(world, channel, draft, { authorId: world.application.id, isInteraction: true, extra });
}

function defer(world: World, interaction: InteractionRecord, flags: number): MessageRecord {
  const ephemeral = flags & MessageFlags.Ephemeral;
  const extra = fieldsFor(world, interaction, ephemeral !== 0);
  const channel = channelOf(world, interaction.channelId);
  return addMessage(world, channel, {
    authorId: world.application.id,
    flags: MessageFlags.Loading | ephemeral,
    ...extra,
  });
}

/** A follow-up message; the first one after a deferred response replaces it. */
export function followUp(
  world: World,
  interaction: InteractionRecord,
  json: unknown,
  files: UploadedFile[],
): MessageRecord {
  if (interaction.answeredWith === undefined) throw refusal("unknownWebhook");
  const isThinking = interaction.isDeferred && interaction.answeredWith === callbacks.deferredMessage;
  if (isThinking) return editReply(world, interaction, "@original", json, files);
  const message = say(world, interaction, readMessage(json, files));
  interaction.followupIds.push(message.id);
  interaction.isDeferred = false;
  return message;
}

/** A message of this interaction, by its id or as `@original`. */
export function replyOf(
  world: World,
  interaction: InteractionRecord,
  id: string,
): { channel: ChannelRecord; message: MessageRecord } {
  const channel = channelOf(world, interaction.channelId);
  const wanted = id === "@original" ? interaction.originalId : id;
  const isOwn = wanted === interaction.originalId || interaction.followupIds.includes(wanted ?? "");
  const message = isOwn && wanted !== undefined ? channel.messages.get(wanted) : undefined;
  if (message === undefined) throw refusal("unknownMessage");
  return { channel, message };
}

export function editReply(
  world: World,
  interaction: InteractionRecord,
  id: string,
  json: unknown,
  files: UploadedFile[],
): MessageRecord {
  const { channel, message } = replyOf(world, interaction, id);
  const draft = readMessage(json, files, isLayout(message));
  const edited = editWithDraft(world, channel, message, draft, { by: world.application.id, isInteraction: true });
  interaction.isDeferred = false;
  return edited;
}
