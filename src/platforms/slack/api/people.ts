/** Caches the people of Slack. An unknown person counts as a guest so that a missing scope never grants access. */
import { z } from "zod";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import { asPlain } from "../../../lib/text/sanitize.ts";
import { knownTimeZone } from "../../../lib/time-zones.ts";
import type { Author } from "../../../ports/message.ts";
import { unescapeText } from "../outbound/safe-text.ts";
import type { SlackApi } from "./api.ts";
import { isRefusal, isSlackError } from "./api-problems.ts";

export interface People {
  /** Rejects if the person is not cached and Slack can't be reached. */
  author(userId: string): Promise<Author>;
  /** Does not wait for groups. Returns the id if the person does not exist. */
  nameOf(userId: string): Promise<string>;
  teamOf(userId: string): Promise<string>;
  fresh(userId: string): Promise<Author | undefined>;
  /** True if the person is a full member of the workspace now. */
  isFullMember(userId: string): Promise<boolean>;
  /** Undefined if there is no such group, or if groups can't be read. */
  groupHandle(groupId: string): Promise<string | undefined>;
  forgetGroups(): void;
  warmUp(): void;
}

export interface PeopleOptions {
  api: SlackApi;
  teamId(): Promise<string>;
}

const freshMs = 10 * 60_000;
const freshGroupsMs = 5 * 60_000;
/** Messages wait for groups only the first time, and only briefly. */
const groupsWithinMs = 5_000;
const maxPeople = 5_000;

const userSchema = z.object({
  user: z.object({
    id: z.string(),
    team_id: z.string().optional(),
    name: z.string().optional(),
    deleted: z.boolean().optional(),
    real_name: z.string().optional(),
    is_bot: z.boolean().optional(),
    is_restricted: z.boolean().optional(),
    is_ultra_restricted: z.boolean().optional(),
    is_stranger: z.boolean().optional(),
    /** Null, or no zone's name, for some. */
    tz: z.unknown().optional(),
    profile: z.object({ display_name: z.string().optional(), real_name: z.string().optional() }).optional(),
    enterprise_user: z.object({ teams: z.array(z.string()).optional() }).optional(),
  }),
});
type User = z.infer<typeof userSchema>["user"];

const groupsSchema = z.object({
  usergroups: z
    .array(z.object({ id: z.string(), handle: z.string().optional(), users: z.array(z.string()).optional() }))
    .default([]),
});
type Groups = z.infer<typeof groupsSchema>["usergroups"];

export function createPeople({ api, teamId }: PeopleOptions): People {
  const users = createLruMap<{ user: User | undefined; at: number }>(maxPeople);
  const fetches = new Map<string, Promise<User | undefined>>();
  let groups: { list: Groups; at: number } | undefined;
  let groupFetch: Promise<Groups> | undefined;

  function fetchUser(id: string): Promise<User | undefined> {
    const fetching = fetches.get(id) ?? askForUser(id).finally(() => fetches.delete(id));
    fetches.set(id, fetching);
    return fetching;
  }

  async function askForUser(id: string): Promise<User | undefined> {
    try {
      const { user } = await api.call("users.info", { user: id }, userSchema);
      users.set(id, { user, at: Date.now() });
      return user;
    } catch (thrown) {
      if (!isSlackError(thrown, "user_not_found", "user_not_visible", "users_not_found", "missing_scope")) throw thrown;
      users.set(id, { user: undefined, at: Date.now() });
      return undefined;
    }
  }

  /** As if Slack did not know the person, if it refuses twice to say who it is: nobody must wait for ever. */
  async function findUser(id: string): Promise<User | undefined> {
    return await fetchUser(id).catch(async (thrown: unknown) => {
      if (!isRefusal(thrown)) throw thrown;
      return await fetchUser(id).catch((again: unknown) => (isRefusal(again) ? undefined : Promise.reject(again)));
    });
  }

  async function userOf(id: string): Promise<User | undefined> {
    const known = users.get(id);
    if (known === undefined) return await findUser(id);
    // Do not wait for the refresh. If it fails, the next message tries again.
    if (elapsedSince(known.at) > freshMs) fetchUser(id).catch(() => {});
    return known.user;
  }

  function fetchGroups(): Promise<Groups> {
    groupFetch ??= askForGroups().finally(() => {
      groupFetch = undefined;
    });
    return groupFetch;
  }

  async function askForGroups(): Promise<Groups> {
    const list = await listGroups();
    groups = { list, at: Date.now() };
    return list;
  }

  async function listGroups(): Promise<Groups> {
    try {
      const retry = { maxRetryMs: groupsWithinMs };
      return (await api.call("usergroups.list", { include_users: true }, groupsSchema, retry)).usergroups;
    } catch (thrown) {
      // Without the scope, or in a plan without groups, groups have no members.
      if (isSlackError(thrown, "missing_scope", "paid_teams_only", "plan_upgrade_required")) return [];
      throw thrown;
    }
  }

  async function personGroups(id: string): Promise<string[]> {
    const list = groups === undefined ? await fetchGroups().catch((): Groups => []) : groups.list;
    if (groups !== undefined && elapsedSince(groups.at) > freshGroupsMs) fetchGroups().catch(() => {});
    return idsWith(list, id);
  }

  async function personAuthor(id: string, user: User | undefined, roles: string[]): Promise<Author> {
    if (user === undefined) return { id, name: id, isBot: false, roles, kind: "guest" };
    const kind = await kindOf(user);
    const isBot = user.is_bot === true || id === "USLACKBOT";
    const timeZone = isBot ? undefined : knownTimeZone(user.tz);
    return {
      ...{ id, name: nameIn(user), isBot, roles },
      ...(kind === undefined ? {} : { kind }),
      ...(timeZone === undefined ? {} : { timeZone }),
    };
  }

  async function kindOf(user: User): Promise<Author["kind"]> {
    if (user.is_restricted === true || user.is_ultra_restricted === true) return "guest";
    const home = await teamId();
    const isOurs = user.team_id === home || user.enterprise_user?.teams?.includes(home) === true;
    return user.is_stranger === true || !isOurs ? "external" : undefined;
  }

  return {
    async author(id) {
      const [user, roles] = await Promise.all([userOf(id), personGroups(id)]);
      return await personAuthor(id, user, roles);
    },
    async nameOf(id) {
      const user = await userOf(id);
      return user === undefined ? id : nameIn(user);
    },
    async teamOf(id) {
      return (await userOf(id))?.team_id ?? (await teamId());
    },
    async fresh(id) {
      const [user, list] = await Promise.all([fetchUser(id), fetchGroups()]);
      return user === undefined || user.deleted === true ? undefined : await personAuthor(id, user, idsWith(list, id));
    },
    async isFullMember(id) {
      const user = await fetchUser(id);
      return user !== undefined && user.deleted !== true && (await kindOf(user)) === undefined;
    },
    async groupHandle(groupId) {
      const list = groups?.list ?? (await fetchGroups());
      return list.find(({ id }) => id === groupId)?.handle;
    },
    forgetGroups() {
      groups = undefined;
    },
    warmUp() {
      fetchGroups().catch(() => {});
    },
  };
}

function idsWith(groups: Groups, userId: string): string[] {
  return groups.filter((group) => group.users?.includes(userId) === true).map((group) => group.id);
}

function nameIn({ id, name, real_name: realName, profile }: User): string {
  const names = [profile?.display_name, profile?.real_name, realName, name];
  const plain = names.map((each = "") => asPlain(unescapeText(each)).replace(/\s+/g, " "));
  return plain.find((each) => each !== "") ?? id;
}
