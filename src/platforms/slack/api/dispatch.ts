/**
 * Passes a Slack request through Bolt. Unlike with Bolt alone, an event is acknowledged only once it is durably stored,
 * so Slack resends it after a failure. Slack waits only three seconds for buttons, modals and commands and sends them
 * once, so they are acknowledged as soon as the listener says so.
 */
import type { App } from "@slack/bolt";

export interface SlackRequest {
  body: Record<string, unknown>;
  retryNum?: number;
  retryReason?: string;
}

/** Rejects if the request must not be acknowledged. */
export function dispatch(app: App, request: SlackRequest): Promise<unknown> {
  const isEvent = request.body.type === "event_callback";
  return new Promise((resolve, reject) => {
    const ack = async (answer?: unknown) => {
      if (!isEvent) resolve(answer);
    };
    app.processEvent({ ...request, ack }).then(() => resolve(undefined), reject);
  });
}
