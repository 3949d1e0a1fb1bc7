/**
 * What each method asks of its caller: the kind of token, the scope, and how often it may be called.
 * From the pages of the methods on docs.slack.dev.
 * Rules: method-scopes, method-tiers
 */
import type { Channel } from "./state.ts";

/** Calls a minute; `burst` calls more may come at once. Per channel for methods that post. */
export interface Rate {
  perMinute: number;
  burst: number;
  perChannel?: boolean;
}

const tier = (perMinute: number): Rate => ({ perMinute, burst: perMinute });
const tier2 = tier(20);
const tier3 = tier(50);
const tier4 = tier(100);

export interface MethodRule {
  token: "bot" | "app" | "user";
  /** Any one of these will do; none means no scope is needed. */
  scopes: string[];
  rate: Rate;
}

const bot = (rate: Rate, ...scopes: string[]): MethodRule => ({ token: "bot", scopes, rate });

/** Methods whose scope depends on the kind of conversation have none here; see `scopeFor`. */
export const methodRules: Record<string, MethodRule> = {
  "agents.sessions.setStatus": bot(tier3, "chat:write"),
  "apps.connections.open": { token: "app", scopes: ["connections:write"], rate: tier3 },
  // Its limit is one per person; see search-methods.ts.
  "assistant.search.context": bot({ perMinute: 600, burst: 600 }, "search:read.public"),
  "assistant.threads.setStatus": bot({ perMinute: 600, burst: 600 }, "chat:write", "assistant:write"),
  "assistant.threads.setSuggestedPrompts": bot(tier4, "assistant:write"),
  "assistant.threads.setTitle": bot(tier4, "assistant:write"),
  "auth.test": bot({ perMinute: 600, burst: 600 }),
  "bots.info": bot(tier3, "users:read"),
  "chat.appendStream": bot(tier4, "chat:write"),
  "chat.delete": bot(tier3, "chat:write"),
  "chat.getPermalink": bot({ perMinute: 600, burst: 600 }),
  "chat.postEphemeral": bot(tier4, "chat:write"),
  "chat.postMessage": bot({ perMinute: 60, burst: 5, perChannel: true }, "chat:write"),
  "chat.startStream": bot(tier2, "chat:write"),
  "chat.stopStream": bot(tier2, "chat:write"),
  "chat.update": bot(tier3, "chat:write"),
  "conversations.history": bot(tier3),
  "conversations.info": bot(tier3),
  "conversations.list": bot(tier2),
  "conversations.members": bot(tier4),
  "conversations.open": bot(tier3, "im:write", "mpim:write"),
  "conversations.replies": bot(tier3),
  "files.completeUploadExternal": bot(tier4, "files:write"),
  "files.getUploadURLExternal": bot(tier4, "files:write"),
  "files.info": bot(tier4, "files:read"),
  "reactions.add": bot(tier3, "reactions:write"),
  "reactions.remove": bot(tier2, "reactions:write"),
  "search.messages": { token: "user", scopes: ["search:read"], rate: tier2 },
  "team.info": bot(tier3, "team:read"),
  "usergroups.list": bot(tier2, "usergroups:read"),
  "usergroups.users.list": bot(tier2, "usergroups:read"),
  "users.conversations": bot(tier3),
  "users.info": bot(tier4, "users:read"),
  "views.open": bot(tier4),
  "views.publish": bot(tier4),
  "views.push": bot(tier4),
  "views.update": bot(tier4),
};

const family: Record<Channel["type"], string> = { channel: "channels", group: "groups", im: "im", mpim: "mpim" };

/** `channels:history`, `im:read` and their like. */
export function scopeFor(type: Channel["type"], action: "read" | "history"): string {
  return `${family[type]}:${action}`;
}

/** The scope without which an event is not delivered; undefined for events that need none. */
export function scopeForEvent(event: { type?: unknown; channel_type?: unknown }): string | undefined {
  switch (event.type) {
    case "message":
      return scopeFor(channelTypeOf(event.channel_type), "history");
    case "app_mention":
      return "app_mentions:read";
    case "assistant_thread_started":
    case "assistant_thread_context_changed":
      return "assistant:write";
    case "member_joined_channel":
    case "member_left_channel":
      return scopeFor(event.channel_type === "G" ? "group" : "channel", "read");
    case "reaction_added":
      return "reactions:read";
    default:
      return undefined;
  }
}

function channelTypeOf(value: unknown): Channel["type"] {
  return value === "im" || value === "mpim" || value === "group" ? value : "channel";
}

/** All scopes that an agent in channels and DMs needs. */
export const allBotScopes = [
  "app_mentions:read",
  "assistant:write",
  "channels:history",
  "channels:read",
  "chat:write",
  "commands",
  "files:read",
  "files:write",
  "groups:history",
  "groups:read",
  "im:history",
  "im:read",
  "im:write",
  "mpim:history",
  "mpim:read",
  "mpim:write",
  "reactions:read",
  "reactions:write",
  "search:read.public",
  "team:read",
  "usergroups:read",
  "users:read",
];
