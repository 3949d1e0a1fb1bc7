/** Test setup: people, bots, channels, user groups, memberships and administration. */
import type { Channel, Person, SlackState, UserGroup } from "./state.ts";

export interface PersonOptions {
  name: string;
  isGuest?: boolean;
  isSingleChannelGuest?: boolean;
  /** Of another organisation, met through Slack Connect. */
  isStranger?: boolean;
  isAdmin?: boolean;
  isDeleted?: boolean;
  /** Default `Europe/Berlin`. */
  timeZone?: string | null;
}

export interface ChannelOptions {
  name: string;
  members?: Person[];
  /** Default true. */
  hasApp?: boolean;
  isPrivate?: boolean;
  isArchived?: boolean;
  isReadOnly?: boolean;
  isShared?: boolean;
  isOrgShared?: boolean;
}

export interface Workspace {
  /** The app's own bot user. */
  app: Person;
  addPerson(options: PersonOptions): Person;
  /** Another app's bot. */
  addBot(name: string): Person;
  addChannel(options: ChannelOptions): Channel;
  addGroup(handle: string, users: Person[]): UserGroup;
  /** By display name; throws when there is none. */
  person(name: string): Person;
  channel(name: string): Channel;
  /** The DM of one or several people with the app; opened if missing. */
  direct(...people: Person[]): Channel;
}

export function createWorkspace(state: SlackState, appName: string): Workspace {
  function add(options: PersonOptions & { isBot: boolean; id?: string; botId?: string }): Person {
    const person: Person = {
      id: options.id ?? state.id("U"),
      teamId: options.isStranger === true ? state.id("T") : state.team.id,
      name: options.name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "."),
      displayName: options.name,
      isBot: options.isBot,
      ...(options.botId === undefined ? {} : { botId: options.botId }),
      isDeleted: options.isDeleted ?? false,
      isGuest: options.isGuest ?? false,
      isSingleChannelGuest: options.isSingleChannelGuest ?? false,
      isStranger: options.isStranger ?? false,
      isAdmin: options.isAdmin ?? false,
      timeZone: options.timeZone === undefined ? "Europe/Berlin" : options.timeZone,
    };
    state.people.set(person.id, person);
    return person;
  }

  function addConversation(
    type: Channel["type"],
    name: string,
    members: string[],
    more: Partial<Channel> = {},
  ): Channel {
    const channel: Channel = {
      id: state.id(type === "im" ? "D" : type === "channel" ? "C" : "G"),
      name,
      type,
      members: new Set(members),
      isArchived: false,
      isReadOnly: false,
      isShared: false,
      isOrgShared: false,
      created: Math.floor(state.clock.now() / 1000),
      ...more,
    };
    state.channels.set(channel.id, channel);
    return channel;
  }

  const app = add({ name: appName, isBot: true, id: state.app.botUserId, botId: state.app.botId });

  return {
    app,
    addPerson: (options) => add({ ...options, isBot: false }),
    addBot: (name) => add({ name, isBot: true, botId: state.id("B") }),
    addChannel(options) {
      const members = (options.members ?? []).map((person) => person.id);
      return addConversation(
        options.isPrivate === true ? "group" : "channel",
        options.name,
        options.hasApp === false ? members : [...members, app.id],
        {
          isArchived: options.isArchived ?? false,
          isReadOnly: options.isReadOnly ?? false,
          isShared: options.isShared ?? false,
          isOrgShared: options.isOrgShared ?? false,
        },
      );
    },
    addGroup(handle, users) {
      const group = { id: state.id("S"), handle, name: handle, users: users.map((user) => user.id), isDisabled: false };
      state.groups.set(group.id, group);
      return group;
    },
    person(name) {
      const person = [...state.people.values()].find((one) => one.displayName === name);
      if (person === undefined) throw new Error(`slack double: there is nobody called ${name}`);
      return person;
    },
    channel(name) {
      const channel = [...state.channels.values()].find((one) => one.name === name);
      if (channel === undefined) throw new Error(`slack double: there is no channel called ${name}`);
      return channel;
    },
    direct(...people) {
      const members = [...new Set([...people.map((person) => person.id), app.id])];
      const type = members.length > 2 ? "mpim" : "im";
      const isSame = (one: Channel) =>
        one.members.size === members.length && members.every((id) => one.members.has(id));
      const known = [...state.channels.values()].find((one) => one.type === type && isSame(one));
      if (known !== undefined) return known;
      const name = type === "im" ? "" : `mpdm-${people.map((person) => person.name).join("--")}-1`;
      return addConversation(type, name, members);
    },
  };
}
