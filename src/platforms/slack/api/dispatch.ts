/**
 * Passes one Slack request through Bolt. Bolt acknowledges an event before its listeners run; here that waits until the
 * event is durably kept, and is omitted on failure, so that Slack sends it again. Buttons, modals and commands are
 * acknowledged as soon as the listener says so, because Slack waits three seconds and asks once.
 */
import type { App } from "@slack/bolt";

export interface SlackRequest {
  body: Record<string, unknown>;
  retryNum?: number;
  retryReason?: string;
}

/** Rejects when there must be no acknowledgement. */
export function dispatch(app: App, request: SlackRequest): Promise<unknown> {
  const isEvent = request.body.type === "event_callback";
  return new Promise((resolve, reject) => {
    const ack = async (answer?: unknown) => {
      if (!isEvent) resolve(answer);
    };
    app.processEvent({ ...request, ack }).then(() => resolve(undefined), reject);
  });
}
