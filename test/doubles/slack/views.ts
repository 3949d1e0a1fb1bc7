/**
 * Modals and home tabs: trigger ids (3 s, once), the stack of open modals, what a submission carries, and what the app's
 * answer to it does.
 */
import type { Method } from "./api-call.ts";
import { elementsOf } from "./block-elements.ts";
import { most } from "./sizes.ts";
import type { Person, SlackState, StoredView } from "./state.ts";
import { checkView } from "./view-rules.ts";
import { isObject, type JsonObject, objectsIn, SlackRefusal } from "./wire.ts";

export interface Views {
  methods: Record<string, Method>;
  trigger(person: Person): string;
  json(view: StoredView): JsonObject;
  close(view: StoredView): void;
  /** `response_action`: errors, update, push, clear; nothing closes the view. */
  answered(view: StoredView, payload: JsonObject): void;
  failed(view: StoredView, reason: string): void;
  /** The open modals of a person, the one on top last. */
  stack(person: Person): StoredView[];
  home(person: Person): StoredView | undefined;
}

export function createViews(state: SlackState): Views {
  const triggers = new Map<string, { userId: string; until: number; isUsed: boolean }>();

  function take(triggerId: string): string {
    const trigger = triggers.get(triggerId);
    if (trigger === undefined) throw new SlackRefusal("invalid_trigger_id");
    if (trigger.isUsed) throw new SlackRefusal("exchanged_trigger_id");
    if (state.clock.now() > trigger.until) throw new SlackRefusal("expired_trigger_id");
    trigger.isUsed = true;
    return trigger.userId;
  }

  function stackOf(userId: string): StoredView[] {
    return [...state.views.values()].filter(
      (view) => view.type === "modal" && view.userId === userId && view.state === "open",
    );
  }

  function open(userId: string, view: JsonObject, type: StoredView["type"], below?: StoredView): StoredView {
    const id = state.id("V");
    const stored: StoredView = {
      id,
      type,
      userId,
      view: withIds(view),
      hash: newHash(),
      rootId: below?.rootId ?? id,
      ...(below === undefined ? {} : { previousId: below.id }),
      state: "open",
      errors: {},
    };
    state.views.set(id, stored);
    state.changed();
    return stored;
  }

  function replace(stored: StoredView, view: JsonObject): void {
    Object.assign(stored, { view: withIds(view), hash: newHash(), errors: {} });
    state.changed();
  }

  function newHash(): string {
    return `${Math.floor(state.clock.now() / 1000)}.${state.id("h")}`;
  }

  function json(stored: StoredView): JsonObject {
    const view = stored.view;
    return {
      id: stored.id,
      team_id: state.team.id,
      app_id: state.app.id,
      app_installed_team_id: state.team.id,
      bot_id: state.app.botId,
      type: stored.type,
      title: view.title ?? { type: "plain_text", text: "View Title", emoji: true },
      submit: view.submit ?? null,
      close: view.close ?? null,
      blocks: view.blocks ?? [],
      callback_id: view.callback_id ?? "",
      external_id: view.external_id ?? "",
      private_metadata: view.private_metadata ?? "",
      state: { values: {} },
      hash: stored.hash,
      clear_on_close: view.clear_on_close === true,
      notify_on_close: view.notify_on_close === true,
      root_view_id: stored.rootId,
      previous_view_id: stored.previousId ?? null,
    };
  }

  function openModal(triggerId: string, value: unknown, isPush: boolean): StoredView {
    const view = checkView(value, "modal");
    const userId = take(triggerId);
    const stack = stackOf(userId);
    if (isPush && stack.length >= most("open-views")) throw new SlackRefusal("push_limit_reached");
    if (!isPush) for (const other of stack) other.state = "closed";
    return open(userId, view, "modal", isPush ? stack.at(-1) : undefined);
  }

  function act(view: StoredView, payload: JsonObject): void {
    switch (payload.response_action) {
      case "errors":
        view.errors = isObject(payload.errors) ? (payload.errors as Record<string, string>) : {};
        break;
      case "update":
        replace(view, checkView(payload.view, "modal"));
        break;
      case "push":
        open(view.userId, checkView(payload.view, "modal"), "modal", view);
        break;
      case "clear":
        for (const other of stackOf(view.userId)) other.state = "closed";
        break;
      case undefined:
        view.state = "closed";
        break;
      default:
        view.failure = "unknown response_action";
    }
  }

  const views: Views = {
    methods: {
      "views.open": ({ args }) => ({
        view: json(openModal(args.required("trigger_id"), args.json("view"), false)),
      }),
      "views.push": ({ args }) => ({
        view: json(openModal(args.required("trigger_id"), args.json("view"), true)),
      }),
      "views.update"({ args }) {
        const view = checkView(args.json("view"), "modal");
        const externalId = args.text("external_id");
        const stored =
          externalId === undefined
            ? state.views.get(args.required("view_id"))
            : [...state.views.values()].find((one) => one.view.external_id === externalId);
        if (stored === undefined || stored.state === "closed") throw new SlackRefusal("not_found");
        if (args.has("hash") && args.text("hash") !== stored.hash) throw new SlackRefusal("hash_conflict");
        replace(stored, view);
        return { view: json(stored) };
      },
      "views.publish"({ args }) {
        const userId = args.required("user_id");
        if (!state.people.has(userId)) throw new SlackRefusal("invalid_arguments");
        const view = checkView(args.json("view"), "home");
        const known = [...state.views.values()].find((one) => one.type === "home" && one.userId === userId);
        if (known !== undefined && args.has("hash") && args.text("hash") !== known.hash) {
          throw new SlackRefusal("hash_conflict");
        }
        if (known === undefined) return { view: json(open(userId, view, "home")) };
        replace(known, view);
        return { view: json(known) };
      },
    },
    trigger(person) {
      const id = `${state.clock.now()}.${state.id("tr")}.${state.id("x")}`;
      triggers.set(id, { userId: person.id, until: state.clock.now() + most("trigger-ms"), isUsed: false });
      return id;
    },
    json,
    close(view) {
      view.state = "closed";
      if (view.view.clear_on_close === true) for (const other of stackOf(view.userId)) other.state = "closed";
      state.changed();
    },
    answered(view, payload) {
      try {
        act(view, payload);
      } catch (error) {
        if (!(error instanceof SlackRefusal)) throw error;
        view.failure = error.error;
      }
      state.changed();
    },
    failed(view, reason) {
      view.failure = reason;
      state.changed();
    },
    stack: (person) => stackOf(person.id),
    home: (person) => [...state.views.values()].find((one) => one.type === "home" && one.userId === person.id),
  };
  return views;
}

function withIds(view: JsonObject): JsonObject {
  const blocks = objectsIn(view.blocks).map((block, index) =>
    block.block_id === undefined ? { ...block, block_id: `v${index}` } : block,
  );
  return { ...view, blocks };
}

/** `state.values` of a submission: what was typed, else what the inputs began with. */
export function collectState(blocks: JsonObject[], values: Record<string, string | JsonObject>): JsonObject {
  const collected: Record<string, JsonObject> = {};
  for (const { element, blockId } of elementsOf(blocks)) {
    const actionId = String(element.action_id ?? "");
    if (element.type === "button" || element.type === "image") continue;
    const given = values[actionId];
    const value = typeof given === "object" ? given : stateOf(element, given);
    collected[blockId] = { ...collected[blockId], [actionId]: value };
  }
  return collected;
}

function stateOf(element: JsonObject, given: string | undefined): JsonObject {
  const type = String(element.type);
  if (type === "file_input") return { type, files: [] };
  return hasOptions(element)
    ? { type, selected_options: objectsIn(element.initial_options) }
    : { type, value: given ?? element.initial_value ?? null };
}

function hasOptions(element: JsonObject): boolean {
  return element.type === "checkboxes" || element.type === "multi_static_select";
}

/** What the client does not let anyone submit: an empty input that is not optional, a text that is too long, no such option. */
export function checkSubmission(blocks: JsonObject[], values: Record<string, string | JsonObject>): void {
  for (const block of blocks) {
    const element = isObject(block.element) ? block.element : undefined;
    if (element === undefined) continue;
    if (hasOptions(element)) checkOptions(element, values, block.optional === true);
    if (element.type === "file_input") checkUpload(element, values, block.optional === true);
    if (element.type === "users_select") {
      const given = values[String(element.action_id)];
      const isChosen = isObject(given) && typeof given.selected_user === "string";
      if (!isChosen && block.optional !== true) throw new Error(`slack double: ${element.action_id} must be filled in`);
    }
    if (element.type !== "plain_text_input") continue;
    const given = values[String(element.action_id)] ?? element.initial_value ?? "";
    if (typeof given !== "string") continue;
    const limit = typeof element.max_length === "number" ? element.max_length : most("input-text");
    if (given === "" && block.optional !== true)
      throw new Error(`slack double: ${element.action_id} must be filled in`);
    if (given.length > limit) throw new Error(`slack double: ${element.action_id} takes ${limit} characters at most`);
  }
}

/** The client offers only files of these kinds, but does not keep people from giving others. */
function checkUpload(element: JsonObject, values: Record<string, string | JsonObject>, isOptional: boolean): void {
  const given = values[String(element.action_id)];
  const files = objectsIn(isObject(given) ? given.files : []);
  const most = typeof element.max_files === "number" ? element.max_files : 10;
  if (files.length === 0 && !isOptional) throw new Error(`slack double: ${element.action_id} must be filled in`);
  if (files.length > most) throw new Error(`slack double: ${element.action_id} takes ${most} files at most`);
  const large = files.find(({ size }) => Number(size) > 10_000_000);
  if (large !== undefined) throw new Error(`slack double: ${String(large.name)} has more than 10 MB`);
}

function checkOptions(element: JsonObject, values: Record<string, string | JsonObject>, isOptional: boolean): void {
  const given = values[String(element.action_id)];
  const chosen = objectsIn(isObject(given) ? given.selected_options : element.initial_options);
  const known = objectsIn(element.options).map((option) => JSON.stringify(option));
  if (chosen.length === 0 && !isOptional) throw new Error(`slack double: ${element.action_id} must be filled in`);
  const isKnown = chosen.every((option) => known.includes(JSON.stringify(option)));
  if (!isKnown) throw new Error(`slack double: ${element.action_id} has no such option`);
}
