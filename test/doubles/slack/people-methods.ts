/** auth.test, users, user groups, bots, team, reactions. */
import type { Method } from "./api-call.ts";
import { addReaction } from "./people.ts";
import { channelFor } from "./posting.ts";
import { userJson } from "./shapes.ts";
import type { SlackState, UserGroup } from "./state.ts";
import { type JsonObject, SlackRefusal } from "./wire.ts";

export function peopleMethods(state: SlackState): Record<string, Method> {
  return {
    "auth.test"() {
      const app = state.people.get(state.app.botUserId);
      return {
        url: `https://${state.team.domain}.slack.com/`,
        team: state.team.name,
        user: app?.name ?? "",
        team_id: state.team.id,
        user_id: state.app.botUserId,
        bot_id: state.app.botId,
        is_enterprise_install: false,
      };
    },
    "team.info": () => ({
      team: { ...state.team, url: `https://${state.team.domain}.slack.com/`, email_domain: "", is_verified: false },
    }),
    "users.info"({ args, hasScope }) {
      const person = state.people.get(args.required("user"));
      if (person === undefined) throw new SlackRefusal("user_not_found");
      return { user: userJson(state, person, hasScope("users:read.email")) };
    },
    "bots.info"({ args }) {
      const id = args.text("bot");
      const bot = [...state.people.values()].find((person) => person.botId !== undefined && person.botId === id);
      if (bot === undefined) throw new SlackRefusal("bot_not_found");
      return {
        bot: {
          id: bot.botId ?? "",
          deleted: bot.isDeleted,
          name: bot.displayName,
          updated: 0,
          app_id: bot.id === state.app.botUserId ? state.app.id : `A${bot.id.slice(1)}`,
          user_id: bot.id,
          icons: {},
        },
      };
    },
    "usergroups.list": ({ args }) => ({
      usergroups: [...state.groups.values()]
        .filter((group) => !group.isDisabled || args.flag("include_disabled") === true)
        .map((group) => groupJson(state, group, args.flag("include_users") === true)),
    }),
    "usergroups.users.list"({ args }) {
      const group = state.groups.get(args.required("usergroup"));
      const isHidden = group?.isDisabled === true && args.flag("include_disabled") !== true;
      if (group === undefined || isHidden) throw new SlackRefusal("no_such_subteam");
      return { users: group.users };
    },
    "reactions.add"({ args }) {
      const channel = channelFor(state, args.required("channel"));
      const name = args.required("name");
      const message = state.message(channel.id, args.required("timestamp"));
      if (message === undefined) throw new SlackRefusal("message_not_found");
      if (!/^[a-z0-9_+'-]+(::skin-tone-[2-6])?$/.test(name)) throw new SlackRefusal("invalid_name");
      if (!addReaction(message, state.app.botUserId, name)) throw new SlackRefusal("already_reacted");
      return {};
    },
    "reactions.remove"({ args }) {
      const channel = channelFor(state, args.required("channel"));
      const name = args.required("name");
      const message = state.message(channel.id, args.required("timestamp"));
      if (message === undefined) throw new SlackRefusal("message_not_found");
      const known = message.reactions.find((reaction) => reaction.name === name);
      if (known?.users.includes(state.app.botUserId) !== true) throw new SlackRefusal("no_reaction");
      known.users = known.users.filter((user) => user !== state.app.botUserId);
      message.reactions = message.reactions.filter(({ users }) => users.length > 0);
      state.changed();
      return {};
    },
  };
}

function groupJson(state: SlackState, group: UserGroup, withUsers: boolean): JsonObject {
  return {
    id: group.id,
    team_id: state.team.id,
    is_usergroup: true,
    name: group.name,
    description: "",
    handle: group.handle,
    is_external: false,
    date_create: 0,
    date_update: 0,
    date_delete: group.isDisabled ? 1 : 0,
    user_count: group.users.length,
    ...(withUsers ? { users: group.users } : {}),
  };
}
