/**
 * One call of a Web API method, as Slack handles it: failure on request, token, scope, rate, then the method itself.
 * Rule: distributed-apps-read-less
 */
import { methodRules, type Rate } from "./method-rules.ts";
import type { SlackState } from "./state.ts";
import { type Arguments, createArguments, type JsonObject, SlackRefusal } from "./wire.ts";

export interface Token {
  value: string;
  kind: "bot" | "app" | "user";
  /** Of a user token: whose it is. */
  userId?: string;
  scopes: string[];
  state: "active" | "revoked" | "inactive";
}

export interface Call {
  method: string;
  args: Arguments;
  token: Token;
  /** Throws `missing_scope` unless the token has one of the scopes. */
  needScope(...scopes: string[]): void;
  hasScope(scope: string): boolean;
}

export type Method = (call: Call) => JsonObject | Promise<JsonObject>;

/** What happens to a call instead of, or around, what Slack would do. */
export type Failure =
  | { type: "error"; error: string; body?: JsonObject }
  | { type: "http"; status: number; body?: string; headers?: Record<string, string> }
  /** The connection breaks; with `after`, the method has done its work first, unknown to the caller. */
  | { type: "cut"; after?: boolean }
  /** Of a download: so many bytes arrive, then the connection breaks or nothing more happens. */
  | { type: "part"; bytes: number; end: "cut" | "stall" }
  | { type: "delay"; ms: number }
  | { type: "rate-limit"; retryAfterSeconds: number };

/** A logged call with its response. */
export interface LoggedCall {
  method: string;
  /** The arguments, JSON in form fields already read. */
  args: JsonObject;
  token: string | undefined;
  contentType: string;
  at: number;
  /** Undefined while under way, and when the connection was cut. */
  answer?: JsonObject;
  status?: number;
}

export interface RateLimits {
  isEnforced: boolean;
  /** The app is distributed outside the Marketplace: it reads 15 messages of a history at once, and once a minute. */
  isDistributed: boolean;
  /** Replaces the documented rate of a method. */
  rates: Record<string, Rate>;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: JsonObject;
}

export interface Caller {
  handle(method: string, values: JsonObject, token: string | undefined): Promise<Answer>;
}

const cappedMethods = ["conversations.history", "conversations.replies"];
const onceAMinute: Rate = { perMinute: 1, burst: 1 };

export function createCaller(
  state: SlackState,
  tokens: Map<string, Token>,
  methods: Map<string, Method>,
  limits: RateLimits,
): Caller {
  const spent = new Map<string, number[]>();

  function tokenFor(value: string | undefined): Token {
    if (value === undefined || value === "") throw new SlackRefusal("not_authed");
    const token = tokens.get(value);
    if (token === undefined) throw new SlackRefusal("invalid_auth");
    if (token.state === "revoked") throw new SlackRefusal("token_revoked");
    if (token.state === "inactive") throw new SlackRefusal("account_inactive");
    return token;
  }

  /** A sliding minute that holds `burst` calls at most, of which `perMinute` a minute are given back. */
  function spend(key: string, rate: Rate): void {
    if (!limits.isEnforced) return;
    const now = state.clock.now();
    const interval = 60_000 / rate.perMinute;
    // The times at which calls in the bucket will have been given back.
    const pending = (spent.get(key) ?? []).filter((at) => at > now);
    if (pending.length >= rate.burst) {
      const wait = (pending[pending.length - rate.burst] ?? now) - now;
      const seconds = Math.max(1, Math.ceil(wait / 1000));
      throw new SlackRefusal("ratelimited", {}, { "retry-after": String(seconds) }, 429);
    }
    spent.set(key, [...pending, Math.max(now, pending.at(-1) ?? 0) + interval]);
  }

  async function run(name: string, values: JsonObject, tokenText: string | undefined): Promise<Answer> {
    const rule = methodRules[name];
    const method = methods.get(name);
    if (rule === undefined || method === undefined) throw new SlackRefusal("unknown_method", { req_method: name });
    const token = tokenFor(tokenText);
    if (token.kind !== rule.token) throw new SlackRefusal("not_allowed_token_type");
    const hasScope = (scope: string) => token.scopes.includes(scope);
    const needScope = (...scopes: string[]) => {
      if (scopes.some(hasScope)) return;
      const needed = scopes.join(",");
      const body = { needed, provided: token.scopes.join(",") };
      throw new SlackRefusal("missing_scope", body, { "x-accepted-oauth-scopes": needed });
    };
    const headers = { "x-oauth-scopes": token.scopes.join(",") };
    try {
      if (rule.scopes.length > 0) needScope(...rule.scopes);
      const isCapped = limits.isDistributed && cappedMethods.includes(name);
      const args = createArguments(isCapped ? { ...values, limit: Math.min(Number(values.limit ?? 15), 15) } : values);
      const rate = isCapped ? onceAMinute : (limits.rates[name] ?? rule.rate);
      spend([name, token.value, rate.perChannel === true ? (args.text("channel") ?? "") : ""].join(" "), rate);
      if (rule.scopes.length > 0) Object.assign(headers, { "x-accepted-oauth-scopes": rule.scopes.join(",") });
      const body = await method({ method: name, args, token, needScope, hasScope });
      return { status: 200, headers, body: { ok: true, ...body } };
    } catch (error) {
      if (error instanceof SlackRefusal) Object.assign(error.headers, headers);
      throw error;
    }
  }

  return {
    async handle(method, values, token) {
      try {
        return await run(method, values, token);
      } catch (error) {
        if (!(error instanceof SlackRefusal)) throw error;
        return { status: error.status, headers: error.headers, body: { ok: false, error: error.error, ...error.body } };
      } finally {
        state.changed();
      }
    },
  };
}
