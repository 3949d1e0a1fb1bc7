/**
 * One request of Slack through Bolt, and what it is to be answered with.
 *
 * Bolt acknowledges an event before its listeners have run. Here the answer waits for them: an event is acknowledged when it
 * is durably kept, and not at all when that failed, so that Slack sends it again. What people do with buttons, modals and
 * commands is answered as soon as its listener says so, because Slack waits three seconds and asks once.
 */
import type { App } from "@slack/bolt";

export interface SlackRequest {
  body: Record<string, unknown>;
  retryNum?: number;
  retryReason?: string;
}

/** Resolves to the body of the acknowledgement; rejects when there must be none. */
export function dispatch(app: App, request: SlackRequest): Promise<unknown> {
  const isEvent = request.body.type === "event_callback";
  return new Promise((resolve, reject) => {
    const ack = async (answer?: unknown) => {
      if (!isEvent) resolve(answer);
    };
    app.processEvent({ ...request, ack }).then(() => resolve(undefined), reject);
  });
}
