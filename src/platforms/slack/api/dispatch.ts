/**
 * Passes a Slack request through Bolt. Unlike with Bolt alone, an event is acknowledged only once it is durably stored,
 * so Slack resends it after a failure. Slack waits only three seconds for buttons, modals and commands and sends them
 * once, so they are acknowledged as soon as the listener says so.
 */
import type { App } from "@slack/bolt";
import { isJsonObject } from "../../../lib/json.ts";

/** The beginning, in Unix seconds, of the minute of which Slack says that it drops events. Undefined if it says no such thing. */
export function droppedMinuteOf(body: Record<string, unknown>): number | undefined {
  const { type, minute_rate_limited: minute } = body;
  if (type !== "app_rate_limited") return undefined;
  return typeof minute === "number" && minute > 0 ? minute : Math.floor(Date.now() / 60_000) * 60;
}

/** Rejects if the request must not be acknowledged. `beforeAck` runs once, and nothing is acknowledged if it rejects. */
export function dispatch(
  app: App,
  body: Record<string, unknown>,
  beforeAck: () => Promise<void> = async () => {},
): Promise<unknown> {
  const isEvent = body.type === "event_callback";
  const known = isEvent ? withReadableEvent(body) : body;
  return new Promise((resolve, reject) => {
    let acknowledged: Promise<void> | undefined;
    const acknowledge = (answer?: unknown) => {
      acknowledged ??= beforeAck().then(() => resolve(answer));
      return acknowledged;
    };
    const ack = async (answer?: unknown) => {
      if (!isEvent) await acknowledge(answer);
    };
    app
      .processEvent({ body: known, ack })
      .then(() => acknowledge())
      .catch(reject);
  });
}

/** Bolt throws at `"user": null`, which stands in messages of webhooks, and at places that are no text. What throws never comes again. */
function withReadableEvent(body: Record<string, unknown>): Record<string, unknown> {
  if (!isJsonObject(body.event)) return body;
  const placing = ["user", "channel", "item"];
  const isReadable = ([key, value]: [string, unknown]) =>
    value !== null && (!placing.includes(key) || typeof value === "string" || isJsonObject(value));
  return { ...body, event: Object.fromEntries(Object.entries(body.event).filter(isReadable)) };
}
