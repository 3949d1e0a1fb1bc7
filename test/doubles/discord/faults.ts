/** Faults on request: wrong responses, broken connections, delays. */
import type { LoggedRequest } from "./request-log.ts";

export type Fault =
  /** Another response; with `isDone`, the request still takes effect. */
  | { type: "answer"; status: number; body?: unknown; headers?: Record<string, string>; isDone?: boolean }
  /** 429 as from the service; without `scope` the route's own. The header is in whole seconds, so clients wait at least one. */
  | { type: "rate-limit"; retryAfterSeconds: number; scope?: "user" | "global" | "shared" }
  /**
   * The connection breaks, `before` the request has an effect or during the response. It is closed, or reset with `isReset`:
   * discord.js retries only after a reset.
   */
  | { type: "cut"; when: "before" | "during"; isReset?: boolean }
  /** Delays the response; the request takes effect at once. */
  | { type: "delay"; milliseconds: number }
  /** No answer ever, and nothing done. */
  | { type: "hang" };

export interface FaultRule {
  method?: string;
  /** A route's name, as `messages.create`; see the request log. */
  route?: string;
  /** A pattern of the path behind `/api/v10`. */
  path?: RegExp;
  /** How many requests; default 1. */
  times?: number;
  /** The first matching requests that go through untouched. */
  after?: number;
}

export interface InjectedFault {
  /** The requests that it has hit. */
  hits: LoggedRequest[];
  /** It hits nothing more. */
  remove(): void;
}

export interface Faults {
  inject(rule: FaultRule, fault: Fault): InjectedFault;
  /** Takes the next fault for this request. */
  take(request: LoggedRequest): Fault | undefined;
}

export function createFaults(): Faults {
  const rules: { rule: FaultRule; fault: Fault; skipped: number; hits: LoggedRequest[]; isOn: boolean }[] = [];
  return {
    inject(rule, fault) {
      const entry = { rule, fault, skipped: 0, hits: [] as LoggedRequest[], isOn: true };
      rules.push(entry);
      return {
        hits: entry.hits,
        remove() {
          entry.isOn = false;
        },
      };
    },
    take(request) {
      for (const entry of rules) {
        const { rule } = entry;
        if (!entry.isOn || entry.hits.length >= (rule.times ?? 1) || !matches(rule, request)) continue;
        if (entry.skipped < (rule.after ?? 0)) {
          entry.skipped += 1;
          continue;
        }
        entry.hits.push(request);
        return entry.fault;
      }
      return undefined;
    },
  };
}

function matches(rule: FaultRule, request: LoggedRequest): boolean {
  if (rule.method !== undefined && rule.method !== request.method) return false;
  if (rule.route !== undefined && rule.route !== request.route) return false;
  return rule.path === undefined || rule.path.test(request.path);
}
