/** What people do to the application itself: slash commands, clicks, choices in menus, modals. */
import { PermissionFlagsBits } from "discord.js";
import { channelAt, type MessageRef, messageAt, type Ref } from "./handles.ts";
import { hasFailed } from "./interactions.ts";
import { messagePayload } from "./message-payload.ts";
import { openInteraction } from "./open-interaction.ts";
import { commandData, type OptionValue, type Resolved, resolve } from "./people-commands.ts";
import { type Answers, filledIn, type SeenModal, seenModal } from "./people-modals.ts";
import { demand } from "./permissions.ts";
import { dmWith } from "./routes-application.ts";
import { demandActive } from "./threads.ts";
import { upload } from "./uploads.ts";
import { itemsOf, type SeenMessage, seen } from "./view.ts";
import type { ChannelRecord, InteractionRecord, MessageRecord, World } from "./world.ts";

/** One action, and its deliveries so far. */
export interface InteractionHandle {
  id: string;
  /** `failed`: "The application did not respond". `deferred`: acknowledged, and nothing to see yet. */
  state(): "waiting" | "deferred" | "answered" | "failed";
  /** The callback type of the answer, once there is one. */
  answeredWith(): number | undefined;
  /** The first answer: a message for all, for one, or the changed message of the button. */
  reply(): SeenMessage | undefined;
  /** The first answer and all that followed. */
  replies(): SeenMessage[];
  modal(): SeenModal | undefined;
}

export interface Acting {
  /** `remora`, `remora status` or `remora group status`, with the options of the last part. */
  slash(command: string, options: { in: Ref | "dm"; options?: Record<string, OptionValue> }): InteractionHandle;
  /** By label or custom id. */
  click(message: MessageRef, button: string): InteractionHandle;
  /** Clicks a custom id even if the message has no such button, or is no longer visible: outdated or forged. */
  press(message: MessageRef, customId: string): InteractionHandle;
  choose(message: MessageRef, menu: string, values: string[]): InteractionHandle;
  /** Fills in the shown modal; omitted fields keep their initial value. */
  submit(opened: InteractionHandle, values?: Answers): InteractionHandle;
}

export function createActing(world: World, userId: string): Acting {
  const hand = (interaction: InteractionRecord) => handleOf(world, interaction);
  return {
    slash(command, { in: where, options = {} }) {
      const channel = where === "dm" ? dmWith(world, userId) : channelAt(world, where);
      demand(world, userId, channel, PermissionFlagsBits.UseApplicationCommands);
      demandActive(channel);
      const data = commandData(world, userId, channel, command, options);
      return hand(openInteraction(world, { type: 2, name: command, userId, channel, data }));
    },
    click: (ref, wanted) => hand(press(world, userId, ref, (item) => isButton(item, wanted), wanted)),
    press: (ref, customId) => hand(pressAnyway(world, userId, ref, customId)),
    choose: (ref, menu, values) => hand(press(world, userId, ref, (item) => item.custom_id === menu, menu, values)),
    submit: (opened, values = {}) => hand(submit(world, userId, opened.id, values)),
  };
}

function isButton(item: Record<string, unknown>, wanted: string): boolean {
  return item.type === 2 && (item.custom_id === wanted || item.label === wanted);
}

function press(
  world: World,
  userId: string,
  ref: MessageRef,
  fits: (item: Record<string, unknown>) => boolean,
  wanted: string,
  values?: string[],
): InteractionRecord {
  const { channel, message } = messageAt(world, ref);
  demand(world, userId, channel);
  demandActive(channel);
  if (message.onlyFor !== undefined && message.onlyFor !== userId)
    throw new Error(`only ${message.onlyFor} sees message ${ref.id}`);
  const items = message.components.flatMap(itemsOf);
  const item = items.find(fits);
  if (item === undefined) {
    const shown = items.filter(({ type }) => type !== 1).map(({ label, custom_id }) => label ?? custom_id);
    throw new Error(`message ${ref.id} has no "${wanted}"; it has: ${shown.join(", ") || "nothing"}`);
  }
  if (item.disabled === true) throw new Error(`"${wanted}" of message ${ref.id} is disabled`);
  if (typeof item.custom_id !== "string") throw new Error(`"${wanted}" is a link`);
  const data = { custom_id: item.custom_id, component_type: item.type, ...chosen(world, channel, item, values) };
  return openInteraction(world, {
    type: 3,
    name: item.custom_id,
    userId,
    channel,
    data,
    source: message,
    sourcePayload: sourcePayload(world, message),
  });
}

/** The values of a menu, and the people, roles or channels that they are. */
function chosen(
  world: World,
  channel: ChannelRecord,
  item: Record<string, unknown>,
  values: string[] | undefined,
): object {
  if (values === undefined) return {};
  const options = Array.isArray(item.options) ? item.options.map((one: { value: string }) => one.value) : undefined;
  const unknown = values.find((value) => options !== undefined && !options.includes(value));
  if (unknown !== undefined) throw new Error(`menu "${item.custom_id}" has no value "${unknown}"`);
  const resolved: Resolved = {};
  const kinds: Record<string, number> = { 5: 6, 6: 8, 8: 7 };
  for (const value of values) resolve(world, channel, kinds[String(item.type)] ?? 0, value, resolved);
  return { values, ...(Object.keys(resolved).length === 0 ? {} : { resolved }) };
}

function pressAnyway(world: World, userId: string, ref: MessageRef, customId: string): InteractionRecord {
  const { channel, message } = messageAt(world, ref);
  const data = { custom_id: customId, component_type: 2 };
  const source = { source: message, sourcePayload: sourcePayload(world, message) };
  return openInteraction(world, { type: 3, name: customId, userId, channel, data, ...source });
}

/** The clicked message, which the application can always read because it is its own. */
function sourcePayload(world: World, message: MessageRecord): object {
  return messagePayload(world, message, { readsContent: true });
}

function submit(world: World, userId: string, openerId: string, values: Answers): InteractionRecord {
  const opener = world.interactions.get(openerId);
  if (opener?.modal === undefined) throw new Error(`interaction ${openerId} has opened no modal`);
  if (opener.userId !== userId) throw new Error(`the modal is shown to ${opener.userId} alone`);
  const channel = channelAt(world, opener.channelId);
  const source = opener.sourceId === undefined ? undefined : channel.messages.get(opener.sourceId);
  const resolved = {};
  const components = filledIn(opener.modal, values, (file) => upload(world, channel, file, resolved));
  return openInteraction(world, {
    type: 5,
    name: opener.modal.custom_id,
    userId,
    channel,
    data: {
      custom_id: opener.modal.custom_id,
      components,
      ...(Object.keys(resolved).length === 0 ? {} : { resolved }),
    },
    opener,
    ...(source === undefined ? {} : { source, sourcePayload: sourcePayload(world, source) }),
  });
}

function handleOf(world: World, interaction: InteractionRecord): InteractionHandle {
  const channel = channelAt(world, interaction.channelId);
  const find = (id: string | undefined) => {
    const message = id === undefined ? undefined : channel.messages.get(id);
    return message === undefined ? undefined : seen(world, channel, message);
  };
  return {
    id: interaction.id,
    state() {
      if (hasFailed(world, interaction)) return "failed";
      if (interaction.answeredWith === undefined) return "waiting";
      return interaction.isDeferred ? "deferred" : "answered";
    },
    answeredWith: () => interaction.answeredWith,
    reply: () => find(interaction.originalId),
    replies: () => [interaction.originalId, ...interaction.followupIds].flatMap((id) => find(id) ?? []),
    modal: () => (interaction.modal === undefined ? undefined : seenModal(interaction.modal)),
  };
}
