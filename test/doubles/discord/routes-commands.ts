/**
 * Routes of the application's commands, global ones and those of a guild.
 * Rule: command-counts
 */
import type { APIApplicationCommand } from "discord.js";
import { createForm, refusal } from "./api-error.ts";
import { type CommandForm, readCommand } from "./command-form.ts";
import { list } from "./fields.ts";
import type { Route, RouteAnswer, RouteRequest } from "./router.ts";
import type { World } from "./world.ts";

export const commandRoutes: Route[] = [
  ...routesUnder("/applications/:application/commands", "commands"),
  ...routesUnder("/applications/:application/guilds/:guild/commands", "guild-commands"),
];

function routesUnder(base: string, name: string): Route[] {
  const route = (action: string, method: string, pattern: string, handle: Route["handle"]): Route => ({
    name: `${name}.${action}`,
    method,
    pattern,
    ...(action === "overwrite" ? { limit: "commands.overwrite" } : {}),
    handle,
  });
  return [
    route("list", "GET", base, (request) => ({ body: commandsOf(request) })),
    route("create", "POST", base, create),
    route("overwrite", "PUT", base, overwrite),
    route("get", "GET", `${base}/:command`, (request) => ({ body: commandOf(request) })),
    route("edit", "PATCH", `${base}/:command`, edit),
    route("delete", "DELETE", `${base}/:command`, (request) => {
      const command = commandOf(request);
      keep(
        request,
        commandsOf(request).filter((one) => one !== command),
      );
      return {};
    }),
  ];
}

function scopeOf({ parts }: RouteRequest): string {
  return parts.guild ?? "global";
}

function commandsOf(request: RouteRequest): APIApplicationCommand[] {
  const { world, parts } = request;
  if (parts.application !== world.application.id) throw refusal("unauthorizedApplication");
  const guild = parts.guild === undefined ? undefined : world.guilds.get(parts.guild);
  if (parts.guild !== undefined && !guild?.members.has(world.application.id)) throw refusal("missingAccess");
  return world.application.commands.get(scopeOf(request)) ?? [];
}

function commandOf(request: RouteRequest): APIApplicationCommand {
  const command = commandsOf(request).find(({ id }) => id === request.parts.command);
  if (command === undefined) throw refusal("unknownCommand");
  return command;
}

function keep(request: RouteRequest, commands: APIApplicationCommand[]): void {
  request.world.application.commands.set(scopeOf(request), commands);
}

function create(request: RouteRequest): RouteAnswer {
  const form = createForm();
  const read = readCommand(form, request.json, []);
  form.check();
  const before = commandsOf(request);
  const same = before.find(({ name, type }) => name === read.name && type === read.type);
  const command = toPayload(request, read, same);
  keep(request, [...before.filter((one) => one !== same), command]);
  return { status: same === undefined ? 201 : 200, body: command };
}

function edit(request: RouteRequest): RouteAnswer {
  const command = commandOf(request);
  const form = createForm();
  const read = readCommand(form, { ...command, ...(request.json as object) }, []);
  form.check();
  const next = toPayload(request, read, command);
  keep(
    request,
    commandsOf(request).map((one) => (one === command ? next : one)),
  );
  return { body: next };
}

/** Replaces all commands of the scope; a command with the same name keeps its id. */
function overwrite(request: RouteRequest): RouteAnswer {
  const before = commandsOf(request);
  const form = createForm();
  const read = list(form, request.json, [], 130).map((one, index) => readCommand(form, one, [index]));
  const names = new Set<string>();
  for (const [index, { name, type }] of read.entries()) {
    const message = "Application command names must be unique";
    if (names.has(`${type} ${name}`)) form.wrong([index, "name"], "APPLICATION_COMMANDS_DUPLICATE_NAME", message);
    names.add(`${type} ${name}`);
  }
  for (const [type, most] of [
    [1, 100],
    [2, 15],
    [3, 15],
  ] as const) {
    if (read.filter((command) => command.type === type).length <= most) continue;
    form.wrong([], "APPLICATION_COMMANDS_TOO_MANY", `Maximum number of application commands reached (${most}).`);
  }
  form.check();
  const next = read.map((one) =>
    toPayload(
      request,
      one,
      before.find(({ name, type }) => name === one.name && type === one.type),
    ),
  );
  keep(request, next);
  return { body: next };
}

function toPayload(
  { world, parts }: RouteRequest,
  read: CommandForm,
  same: APIApplicationCommand | undefined,
): APIApplicationCommand {
  return {
    id: same?.id ?? world.nextId(),
    application_id: world.application.id,
    version: world.nextId(),
    type: read.type,
    name: read.name,
    name_localizations: null,
    description: read.description,
    description_localizations: null,
    default_member_permissions: read.defaultMemberPermissions,
    nsfw: read.isNsfw,
    ...(read.options.length === 0 ? {} : { options: read.options }),
    ...(parts.guild === undefined
      ? { contexts: read.contexts, integration_types: [0], dm_permission: read.contexts?.includes(1) ?? true }
      : { guild_id: parts.guild }),
  } as APIApplicationCommand;
}

/** The commands a person finds here: the guild's before the global ones. */
export function commandsIn(world: World, guildId: string | undefined): APIApplicationCommand[] {
  const own = guildId === undefined ? [] : (world.application.commands.get(guildId) ?? []);
  const context = guildId === undefined ? 1 : 0;
  const global = (world.application.commands.get("global") ?? []).filter(
    ({ contexts }) => contexts === null || contexts === undefined || contexts.includes(context),
  );
  return [...own, ...global];
}
