/** Routes Bolt's events. Buttons, modals and commands are acknowledged first, events once they are stored. */
import type { App } from "@slack/bolt";
import { formCallbacks } from "../interactions/card-forms.ts";
import type { Commands } from "../interactions/commands.ts";
import type { Interactions } from "../interactions/interactions.ts";
import { wordsCallback } from "../interactions/words-modal.ts";
import type { AssistantPane } from "../outbound/assistant-pane.ts";
import { forgetCallback, type Home, homeActions } from "../outbound/home.ts";
import { messageEventSchema } from "./events.ts";
import type { Inbound } from "./inbound.ts";

export interface Listeners {
  inbound: Inbound;
  interactions: Interactions;
  commands: Commands;
  home: Home;
  pane: AssistantPane;
  onGroupsChanged(): void;
  /** Called when the app was removed or its tokens were revoked. */
  onRevoked(what: string): void;
}

const homeButtons: readonly string[] = Object.values(homeActions);

export function addListeners(app: App, listeners: Listeners): void {
  const { inbound, interactions, commands, home, pane } = listeners;

  app.event("message", ({ event }) => takeMessage(event));
  app.event("app_mention", ({ event }) => takeMessage(event));
  app.event("app_home_opened", async ({ event }) => {
    await Promise.all([home.opened(event), pane.tabOpened(event)]);
  });
  // Subscribed so that messages carry what their author looks at. The event itself names no person.
  app.event("app_context_changed", async () => {});
  app.event("assistant_thread_started", ({ event }) => pane.opened(event));
  app.event("agent_session_stopped", ({ event }) => pane.stopped(event));
  app.event("agent_session_title_changed", async ({ event }) => pane.renamed(event));
  app.event(/^subteam_/, async () => listeners.onGroupsChanged());
  app.event(/^(?:app_uninstalled|tokens_revoked)$/, async ({ event }) => listeners.onRevoked(event.type));

  async function takeMessage(event: unknown): Promise<void> {
    const subtype = typeof event === "object" && event !== null && "subtype" in event ? event.subtype : undefined;
    if (subtype === "message_changed") return await inbound.changed(event);
    if (subtype === "message_deleted") return await inbound.deleted(event);
    const parsed = messageEventSchema.safeParse(event);
    // An invalid message would be invalid again, so it is acknowledged and ignored.
    if (parsed.success) await inbound.message(parsed.data);
  }

  app.action(/./, async ({ ack, body, action }) => {
    await ack();
    const id = "action_id" in action ? action.action_id : "";
    if (homeButtons.includes(id)) await home.click(body);
    else await interactions.click(body);
  });
  for (const callback of [...formCallbacks, wordsCallback]) {
    app.view(callback, async ({ ack, body }) => {
      const answer = await interactions.submit(body);
      await (answer === undefined ? ack() : ack(answer as never));
    });
  }
  app.view(forgetCallback, async ({ ack, body }) => ack((await home.forget(body)) as never));
  app.command(/./, async ({ ack, body }) => {
    await ack();
    await commands(body);
  });
}
