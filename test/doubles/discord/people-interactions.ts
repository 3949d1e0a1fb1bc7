/** What people do to the application itself: slash commands, clicks, choices in menus, modals. */
import type { APIApplicationCommand, APIApplicationCommandOption } from "discord.js";
import { channelAt, type MessageRef, messageAt, type Ref } from "./handles.ts";
import { hasFailed, openInteraction } from "./interactions.ts";
import { messagePayload } from "./message-payload.ts";
import { interactionChannel, partialMember, rolePayload, userPayload } from "./payloads.ts";
import { demand, permissionsIn } from "./permissions.ts";
import { dmWith } from "./routes-application.ts";
import { commandsIn } from "./routes-commands.ts";
import { demandActive } from "./threads.ts";
import { itemsOf, type SeenMessage, seen } from "./view.ts";
import {
  type ChannelRecord,
  type InteractionRecord,
  type MessageRecord,
  memberOf,
  userOf,
  type World,
} from "./world.ts";

type OptionValue = string | number | boolean;

export interface SeenModal {
  customId: string;
  title: string;
  inputs: {
    customId: string;
    label: string;
    value: string;
    placeholder: string;
    isRequired: boolean;
    isParagraph: boolean;
    maxLength: number;
  }[];
}

/** One thing done, and what has come of it so far. */
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
  choose(message: MessageRef, menu: string, values: string[]): InteractionHandle;
  /** Fills in a modal that was shown; inputs left out keep what they came with. */
  submit(opened: InteractionHandle, values?: Record<string, string>): InteractionHandle;
}

export function createActing(world: World, userId: string): Acting {
  const hand = (interaction: InteractionRecord) => handleOf(world, interaction);
  return {
    slash(command, { in: where, options = {} }) {
      const channel = where === "dm" ? dmWith(world, userId) : channelAt(world, where);
      demand(world, userId, channel);
      demandActive(channel);
      const data = commandData(world, userId, channel, command, options);
      return hand(openInteraction(world, { type: 2, name: command, userId, channel, data }));
    },
    click: (ref, wanted) => hand(press(world, userId, ref, (item) => isButton(item, wanted), wanted)),
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
  const data = { custom_id: item.custom_id, component_type: item.type, ...(values === undefined ? {} : { values }) };
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

/** The message that was clicked, which the application always may read: it is its own. */
function sourcePayload(world: World, message: MessageRecord): object {
  return messagePayload(world, message, { readsContent: true });
}

function submit(world: World, userId: string, openerId: string, values: Record<string, string>): InteractionRecord {
  const opener = world.interactions.get(openerId);
  const modal = opener === undefined ? undefined : modalOf(opener);
  if (opener?.modal === undefined || modal === undefined)
    throw new Error(`interaction ${openerId} has opened no modal`);
  const filled = new Map(modal.inputs.map((input) => [input.customId, values[input.customId] ?? input.value]));
  for (const key of Object.keys(values)) if (!filled.has(key)) throw new Error(`the modal has no input "${key}"`);
  for (const { customId, isRequired, maxLength } of modal.inputs) {
    const length = filled.get(customId)?.length ?? 0;
    if (isRequired && length === 0) throw new Error(`input "${customId}" is required`);
    if (length > maxLength) throw new Error(`input "${customId}" takes ${maxLength} characters, not ${length}`);
  }
  const channel = channelAt(world, opener.channelId);
  const source = opener.sourceId === undefined ? undefined : channel.messages.get(opener.sourceId);
  const components = submitted(opener.modal.components as unknown[], filled);
  return openInteraction(world, {
    type: 5,
    name: modal.customId,
    userId,
    channel,
    data: { custom_id: modal.customId, components },
    opener,
    ...(source === undefined ? {} : { source, sourcePayload: sourcePayload(world, source) }),
  });
}

function submitted(components: unknown[], filled: Map<string, string>): object[] {
  return components.map((part, index) => {
    const input = itemsOf(part).find(({ type }) => type === 4);
    const id = index * 2 + 1;
    const answer = {
      type: 4,
      id: id + 1,
      custom_id: input?.custom_id,
      value: filled.get(String(input?.custom_id)) ?? "",
    };
    const type = (part as { type: number }).type;
    if (type === 10) return { type, id };
    return type === 18 ? { type, id, component: answer } : { type, id, components: [answer] };
  });
}

function modalOf({ modal }: InteractionRecord): SeenModal | undefined {
  if (modal === undefined) return undefined;
  const inputs = (modal.components as unknown[]).flatMap((part) => {
    const input = itemsOf(part).find(({ type }) => type === 4);
    if (input === undefined) return [];
    return [
      {
        customId: String(input.custom_id),
        label: String((part as { label?: string }).label ?? input.label ?? ""),
        value: String(input.value ?? ""),
        placeholder: String(input.placeholder ?? ""),
        isRequired: input.required !== false,
        isParagraph: input.style === 2,
        maxLength: Number(input.max_length ?? 4000),
      },
    ];
  });
  return { customId: modal.custom_id, title: modal.title, inputs };
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
      return interaction.isLoading || interaction.answeredWith === 6 ? "deferred" : "answered";
    },
    answeredWith: () => interaction.answeredWith,
    reply: () => find(interaction.originalId),
    replies: () => [interaction.originalId, ...interaction.followupIds].flatMap((id) => find(id) ?? []),
    modal: () => modalOf(interaction),
  };
}

/** The payload of a command, checked against what the application has registered. */
function commandData(
  world: World,
  userId: string,
  channel: ChannelRecord,
  typed: string,
  values: Record<string, OptionValue>,
): object {
  const [name = "", ...path] = typed.replace(/^\//, "").split(" ");
  const known = commandsIn(world, channel.guildId);
  const command = known.find((one) => one.name === name && one.type === 1);
  if (command === undefined) {
    throw new Error(`there is no /${name} here; there is: ${known.map((one) => one.name).join(", ") || "nothing"}`);
  }
  demandPermission(world, userId, channel, command);
  const resolved: Resolved = {};
  const options = optionsFor(world, channel, command.options ?? [], path, values, `/${typed}`, resolved);
  return {
    id: command.id,
    name: command.name,
    type: 1,
    ...(options.length === 0 ? {} : { options }),
    ...(Object.keys(resolved).length === 0 ? {} : { resolved }),
    ...(command.guild_id === undefined ? {} : { guild_id: command.guild_id }),
  };
}

function demandPermission(world: World, userId: string, channel: ChannelRecord, command: APIApplicationCommand): void {
  const needed = BigInt(command.default_member_permissions ?? 0);
  if (channel.guildId === undefined || needed === 0n) return;
  if ((permissionsIn(world, userId, channel) & needed) !== needed)
    throw new Error(`/${command.name} is hidden from ${userId}`);
}

type Resolved = Partial<Record<"users" | "members" | "roles" | "channels", Record<string, object>>>;

function optionsFor(
  world: World,
  channel: ChannelRecord,
  known: APIApplicationCommandOption[],
  path: string[],
  values: Record<string, OptionValue>,
  typed: string,
  resolved: Resolved,
): object[] {
  const [next, ...rest] = path;
  if (next !== undefined || known.some(({ type }) => type <= 2)) {
    const sub = known.find(({ name, type }) => name === next && type <= 2);
    if (sub === undefined)
      throw new Error(`${typed}: there is no "${next}"; there is: ${known.map(({ name }) => name).join(", ")}`);
    const inner = "options" in sub ? (sub.options ?? []) : [];
    return [
      { name: sub.name, type: sub.type, options: optionsFor(world, channel, inner, rest, values, typed, resolved) },
    ];
  }
  for (const key of Object.keys(values)) {
    if (!known.some(({ name }) => name === key)) throw new Error(`${typed} has no option "${key}"`);
  }
  return known.flatMap((option) => {
    const value = values[option.name];
    if (value === undefined) {
      if (option.required) throw new Error(`${typed}: option "${option.name}" is required`);
      return [];
    }
    checkValue(option, value, typed);
    resolve(world, channel, option.type, String(value), resolved);
    return [{ name: option.name, type: option.type, value }];
  });
}

/** What a client lets people enter. */
function checkValue(option: APIApplicationCommandOption, value: OptionValue, typed: string): void {
  const wanted = option.type === 4 || option.type === 10 ? "number" : option.type === 5 ? "boolean" : "string";
  const fail = (why: string) => new Error(`${typed}: option "${option.name}" ${why}`);
  if (typeof value !== wanted) throw fail(`takes a ${wanted}, not ${JSON.stringify(value)}`);
  const choices = "choices" in option ? option.choices : undefined;
  if (choices !== undefined && !choices.some((one) => one.value === value))
    throw fail(`has no choice ${JSON.stringify(value)}`);
  const max = "max_length" in option ? (option.max_length ?? 6000) : 6000;
  if (typeof value === "string" && value.length > max) throw fail(`takes ${max} characters, not ${value.length}`);
}

function resolve(world: World, channel: ChannelRecord, type: number, id: string, resolved: Resolved): void {
  if (type === 6) {
    const member = memberOf(world, channel.guildId, id);
    resolved.users = { ...resolved.users, [id]: userPayload(userOf(world, id)) };
    if (member !== undefined) resolved.members = { ...resolved.members, [id]: partialMember(member) };
  } else if (type === 7) {
    const payload = interactionChannel(world, channelAt(world, id), world.application.id);
    resolved.channels = { ...resolved.channels, [id]: payload };
  } else if (type === 8) {
    const role = world.guilds.get(channel.guildId ?? "")?.roles.get(id);
    if (role !== undefined) resolved.roles = { ...resolved.roles, [id]: rolePayload(role) };
  }
}
