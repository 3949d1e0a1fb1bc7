/**
 * Passes one Slack request through Bolt and returns its acknowledgement.
 *
 * Bolt acknowledges an event before its listeners run. Here the acknowledgement waits until the event is durably kept,
 * and is omitted on failure, so that Slack sends the event again. Buttons, modals and commands are acknowledged as soon
 * as the listener says so, because Slack waits three seconds and asks once.
 */
import type { App } from "@slack/bolt";

export interface SlackRequest {
  body: Record<string, unknown>;
  retryNum?: number;
  retryReason?: string;
}

/** Resolves to the body of the acknowledgement. Rejects when there must be none. */
export function dispatch(app: App, request: SlackRequest): Promise<unknown> {
  const isEvent = request.body.type === "event_callback";
  return new Promise((resolve, reject) => {
    const ack = async (answer?: unknown) => {
      if (!isEvent) resolve(answer);
    };
    app.processEvent({ ...request, ack }).then(() => resolve(undefined), reject);
  });
}
