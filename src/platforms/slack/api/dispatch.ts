/**
 * Passes one Slack request through Bolt. Bolt would acknowledge an event before its listeners run. Here the event is
 * acknowledged once it is durably stored, and on failure not at all, so that Slack sends it again. Buttons, modals and
 * commands are acknowledged as soon as the listener says so, because Slack waits only three seconds and sends them once.
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
