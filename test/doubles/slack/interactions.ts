/**
 * Buttons, modals and slash commands: the payloads Slack sends for what people do, the trigger ids and response URLs in
 * them, and what Slack does with the app's acknowledgement.
 */
import { setTimeout as wait } from "node:timers/promises";
import { buttonsOf, elementsOf } from "./block-elements.ts";
import type { Courier, Delivery } from "./delivery.ts";
import { type Saying, shareFile } from "./people.ts";
import type { ResponseUrls } from "./response-urls.ts";
import { fileJson, messageJson } from "./shapes.ts";
import type { Channel, Person, SlackState, StoredMessage, StoredView } from "./state.ts";
import { checkSubmission, collectState, type Views } from "./views.ts";
import { isObject, type JsonObject, objectsIn } from "./wire.ts";

export interface Interaction {
  delivery: Delivery;
  triggerId: string;
  responseUrl: string;
  /**
   * What the app answered with its acknowledgement; rejects when there was none in time. If the connection is lost, Slack shows
   * a warning, and the person clicks again.
   */
  acknowledged(): Promise<JsonObject>;
}

const clickAgainMs = 100;

export interface Click {
  as: Person;
  /** The message with the button, also an ephemeral one. */
  on: { channel: string | Channel; ts: string };
  /** A button of it by action id, value or label; throws when there is none. */
  button?: string;
  /** An option of an overflow menu by its text; throws when there is none. */
  option?: string;
  /** Whatever a client may send instead, whether or not the message has it. */
  forged?: { actionId: string; value?: string; blockId?: string; option?: string };
}

export interface Submission {
  as: Person;
  view: StoredView;
  /** By action id: text for inputs; for other elements the state as it is on the wire. */
  values?: Record<string, string | JsonObject>;
  /** By action id: what the person uploads in the form. */
  files?: Record<string, NonNullable<Saying["files"]>>;
}

export interface Interactions {
  command(options: { as: Person; in: Channel; command: string; text?: string }): Interaction;
  click(click: Click): Interaction;
  /** A button or select on a modal or home tab. */
  clickInView(options: { as: Person; view: StoredView; actionId: string; value?: string }): Interaction;
  submit(submission: Submission): Interaction;
  /** Closes the modal, and notifies the app if it asked for it. */
  close(options: { as: Person; view: StoredView }): Interaction | undefined;
}

export interface InteractionTools {
  state: SlackState;
  courier: Courier;
  views: Views;
  responseUrls: ResponseUrls;
}

export function createInteractions(tools: InteractionTools): Interactions {
  const { state, courier, views, responseUrls } = tools;
  const person = (who: Person) => ({ id: who.id, username: who.name, name: who.name, team_id: who.teamId });
  const base = (who: Person) => ({
    user: person(who),
    api_app_id: state.app.id,
    token: state.app.verificationToken,
    team: { id: state.team.id, domain: state.team.domain },
    enterprise: null,
    is_enterprise_install: false,
  });

  /** Whoever opened the modal sees them, and its app. */
  function uploaded(who: Person, files: NonNullable<Submission["files"]>): Record<string, JsonObject> {
    const given = Object.entries(files).map(([actionId, each]) => {
      const stored = each.map((file) => shareFile(state, who, file));
      for (const file of stored) file.isGiven = true;
      return [actionId, { type: "file_input", files: stored.map((file) => fileJson(state, file)) }] as const;
    });
    return Object.fromEntries(given);
  }

  function send(delivery: Delivery, triggerId: string, responseUrl = ""): Interaction {
    return { delivery, triggerId, responseUrl, acknowledged: () => delivery.acknowledged() };
  }

  function sendClick(who: Person, more: JsonObject, action: JsonObject, responseUrl = ""): Interaction {
    const click = () => {
      const triggerId = views.trigger(who);
      const payload = {
        type: "block_actions",
        ...base(who),
        trigger_id: triggerId,
        ...more,
        actions: [{ ...action, action_ts: state.ts() }],
      };
      return send(courier.send("interactive", payload), triggerId, responseUrl);
    };
    const acknowledged = async ({ delivery }: Interaction): Promise<JsonObject> => {
      try {
        return await delivery.acknowledged();
      } catch (thrown) {
        if (delivery.attempts.at(-1)?.outcome?.type !== "gone") throw thrown;
        await wait(clickAgainMs);
        return await acknowledged(click());
      }
    };
    const first = click();
    return { ...first, acknowledged: () => acknowledged(first) };
  }

  return {
    command({ as: who, in: channel, command, text = "" }) {
      const triggerId = views.trigger(who);
      const responseUrl = responseUrls.open({ channel: channel.id, user: who.id });
      const delivery = courier.send("slash_commands", {
        token: state.app.verificationToken,
        team_id: state.team.id,
        team_domain: state.team.domain,
        channel_id: channel.id,
        channel_name:
          channel.type === "im" ? "directmessage" : channel.type === "channel" ? channel.name : "privategroup",
        user_id: who.id,
        user_name: who.name,
        command,
        text,
        api_app_id: state.app.id,
        is_enterprise_install: "false",
        response_url: responseUrl,
        trigger_id: triggerId,
      });
      // What the app sends with its acknowledgement becomes a message, for the person alone unless it says otherwise.
      delivery.acknowledged().then(
        (payload) => responseUrls.answer({ channel: channel.id, user: who.id }, command, payload),
        () => responseUrls.fail({ channel: channel.id, user: who.id }, command, delivery),
      );
      return send(delivery, triggerId, responseUrl);
    },

    click({ as: who, on, button, option, forged }) {
      const channelId = typeof on.channel === "string" ? on.channel : on.channel.id;
      const message = state.messages.find((one) => one.channel === channelId && one.ts === on.ts);
      const action =
        forged !== undefined
          ? forge(forged)
          : option === undefined
            ? actionIn(message, button)
            : chosenIn(message, option);
      const channel = state.channels.get(channelId);
      const responseUrl = responseUrls.open({ channel: channelId, user: who.id, ts: on.ts });
      const isEphemeral = message?.onlyFor !== undefined;
      const more: JsonObject = {
        container: {
          type: "message",
          message_ts: on.ts,
          channel_id: channelId,
          is_ephemeral: isEphemeral,
          ...(message?.threadTs === undefined ? {} : { thread_ts: message.threadTs }),
        },
        channel: { id: channelId, name: channel?.type === "im" ? "directmessage" : (channel?.name ?? "privategroup") },
        ...(message === undefined || isEphemeral ? {} : { message: messageJson(state, message) }),
        state: { values: {} },
        response_url: responseUrl,
      };
      return sendClick(who, more, action, responseUrl);
    },

    clickInView({ as: who, view, actionId, value }) {
      const element = elementsOf(objectsIn(view.view.blocks)).find((one) => one.element.action_id === actionId);
      if (element === undefined) throw new Error(`slack double: the view has no ${actionId}`);
      const more = {
        container: { type: "view", view_id: view.id },
        view: views.json(view),
      };
      const given = value === undefined ? {} : { value };
      return sendClick(who, more, { ...element.element, ...given, block_id: element.blockId });
    },

    submit({ as: who, view, values: typed = {}, files = {} }) {
      const values = { ...typed, ...uploaded(who, files) };
      checkSubmission(objectsIn(view.view.blocks), values);
      const triggerId = views.trigger(who);
      const delivery = courier.send("interactive", {
        type: "view_submission",
        ...base(who),
        trigger_id: triggerId,
        view: { ...views.json(view), state: { values: collectState(objectsIn(view.view.blocks), values) } },
        response_urls: [],
      });
      delivery.acknowledged().then(
        (payload) => views.answered(view, payload),
        () => views.failed(view, "not acknowledged"),
      );
      return send(delivery, triggerId);
    },

    close({ as: who, view }) {
      views.close(view);
      if (view.view.notify_on_close !== true) return undefined;
      const payload = { type: "view_closed", ...base(who), view: views.json(view), is_cleared: false };
      return send(courier.send("interactive", payload), "");
    },
  };
}

function actionIn(message: StoredMessage | undefined, button = ""): JsonObject {
  const buttons = buttonsOf(message?.blocks ?? []);
  const found = buttons.find(({ element }) => {
    const label = isObject(element.text) ? element.text.text : undefined;
    return [element.action_id, element.value, label].includes(button);
  });
  if (found === undefined) {
    const known = buttons.map(({ element }) => element.action_id).join(", ");
    throw new Error(`slack double: no button ${button} on the message; it has: ${known || "none"}`);
  }
  const { confirm: _confirm, ...element } = found.element;
  return { ...element, block_id: found.blockId };
}

/** An overflow menu reports the option that was chosen, and nothing of the others. */
function chosenIn(message: StoredMessage | undefined, label: string): JsonObject {
  const menus = elementsOf(message?.blocks ?? []).filter(({ element }) => element.type === "overflow");
  for (const { element, blockId } of menus) {
    const option = objectsIn(element.options).find(({ text }) => isObject(text) && text.text === label);
    if (option === undefined) continue;
    return { type: "overflow", action_id: element.action_id ?? "", block_id: blockId, selected_option: option };
  }
  throw new Error(`slack double: no menu of the message has ${label}`);
}

function forge(forged: NonNullable<Click["forged"]>): JsonObject {
  if (forged.option !== undefined) {
    const option = { text: { type: "plain_text", text: "?", emoji: true }, value: forged.option };
    const menu = { type: "overflow", action_id: forged.actionId, block_id: forged.blockId ?? "forged" };
    return { ...menu, selected_option: option };
  }
  return {
    type: "button",
    action_id: forged.actionId,
    block_id: forged.blockId ?? "forged",
    text: { type: "plain_text", text: "?", emoji: true },
    ...(forged.value === undefined ? {} : { value: forged.value }),
  };
}
