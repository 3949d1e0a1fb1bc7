/** Slash commands as a client lets people enter them: only what is registered, with values that fit. */
import type { APIApplicationCommand, APIApplicationCommandOption, APIAttachment } from "discord.js";
import { channelAt } from "./handles.ts";
import { memberOf, userOf } from "./lookups.ts";
import { interactionChannel, partialMember, rolePayload, userPayload } from "./payloads.ts";
import { permissionsIn } from "./permissions.ts";
import { commandsIn } from "./routes-commands.ts";
import { type GivenFile, isOfType, upload } from "./uploads.ts";
import type { ChannelRecord, World } from "./world.ts";

export type OptionValue = string | number | boolean | GivenFile;

/** The payload of a command, checked against what the application has registered. */
export function commandData(
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

/** People, roles and channels that ids in an interaction stand for. */
export type Resolved = Partial<Record<"users" | "members" | "roles" | "channels", Record<string, object>>> & {
  attachments?: Record<string, APIAttachment>;
};

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
    if (typeof value === "object" || option.type === 11) {
      checkFile(option, value, typed);
      const id = upload(world, channel, value as GivenFile, resolved);
      return [{ name: option.name, type: option.type as number, value: id as OptionValue }];
    }
    checkValue(option, value, typed);
    resolve(world, channel, option.type, String(value), resolved);
    return [{ name: option.name, type: option.type, value }];
  });
}

function checkFile(option: APIApplicationCommandOption, value: OptionValue, typed: string): void {
  if (option.type !== 11 || typeof value !== "object")
    throw new Error(`${typed}: option "${option.name}" takes ${option.type === 11 ? "a file" : "no file"}`);
  if (!isOfType(value.name, option.file_types))
    throw new Error(`${typed}: option "${option.name}" does not take ${value.name}`);
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

export function resolve(world: World, channel: ChannelRecord, type: number, id: string, resolved: Resolved): void {
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
