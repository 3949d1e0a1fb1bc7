/** The people and guilds of a new world. */
import { createPerson, type Person } from "./people.ts";
import { defaultPermissions } from "./permissions.ts";
import { type ChannelHandle, createGuildHandle, type GuildHandle, joinBot } from "./places.ts";
import type { GuildRecord, UserRecord, World } from "./world.ts";

/** A guild with a channel, its owner, and two people who may do what everybody may. */
export function populate(world: World): {
  owner: Person;
  guild: GuildHandle;
  channel: ChannelHandle;
  ann: Person;
  ben: Person;
} {
  const owner = newPerson(world, "olga", false);
  const guild = newGuild(world, "Harbour", owner.id);
  const handle = createGuildHandle(world, guild);
  const channel = handle.addChannel("general");
  const [ann, ben] = [newPerson(world, "ann", false), newPerson(world, "ben", false)];
  for (const person of [ann, ben]) person.join(handle);
  return { owner, guild: handle, channel, ann, ben };
}

export function newPerson(world: World, username: string, isBot: boolean): Person {
  const id = world.nextId();
  const displayName = isBot ? null : username.charAt(0).toUpperCase() + username.slice(1);
  const user: UserRecord = { id, username, displayName, isBot, acceptsDms: true };
  world.users.set(id, user);
  return createPerson(world, user);
}

/** With its owner and the bot in it. */
export function newGuild(world: World, name: string, ownerId: string): GuildRecord {
  const id = world.nextId();
  const everyone = { id, name: "@everyone", permissions: defaultPermissions, position: 0, isMentionable: false };
  const guild: GuildRecord = {
    id,
    name,
    ownerId,
    roles: new Map([[id, everyone]]),
    members: new Map([[ownerId, { userId: ownerId, nick: null, roleIds: [], joinedAt: world.clock.now() }]]),
    isUnavailable: false,
    membersElsewhere: 0,
  };
  joinBot(world, guild);
  world.guilds.set(id, guild);
  return guild;
}
