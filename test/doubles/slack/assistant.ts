/**
 * The assistant pane: threads a person opens in the app's DM, the context they stand in, and their status, title and
 * suggested prompts. A status may be set in any thread; it goes when the app answers there, and after two minutes.
 * Rules: assistant-threads-bridge, status-goes-by-itself, status-stands-in-any-thread
 */
import type { Method } from "./api-call.ts";
import type { Delivery } from "./delivery.ts";
import type { Events } from "./events.ts";
import { channelFor } from "./posting.ts";
import type { Sessions } from "./sessions.ts";
import { most } from "./sizes.ts";
import type { AssistantThread, Channel, Person, SlackState } from "./state.ts";
import { type Arguments, isObject, type JsonObject, SlackRefusal } from "./wire.ts";

const statusMs = 2 * 60_000;

export interface Pane {
  channel: Channel;
  threadTs: string;
  deliveries: Delivery[];
}

export interface Assistant {
  methods: Record<string, Method>;
  /** Opens the pane, in a channel or nowhere. To write in it, use `in: pane.channel, thread: pane.threadTs`. */
  open(person: Person, standingIn?: Channel): Pane;
  /** The person goes to another channel while the pane is open. */
  move(pane: Pane, standingIn: Channel): Delivery[];
  /** Status, title and prompts of a thread as its person sees them now. */
  thread(channel: Channel, threadTs: string): AssistantThread | undefined;
}

export function createAssistant(
  state: SlackState,
  events: Events,
  direct: (person: Person) => Channel,
  sessions: Pick<Sessions, "set">,
): Assistant {
  const timers = new WeakMap<AssistantThread, () => void>();
  const find = (channelId: string, threadTs: string) =>
    state.assistantThreads.find((one) => one.channel === channelId && one.threadTs === threadTs);

  function contextOf(standingIn: Channel | undefined): JsonObject {
    if (standingIn === undefined) return {};
    return { channel_id: standingIn.id, team_id: state.team.id, enterprise_id: null };
  }

  function sendEvent(type: string, thread: AssistantThread): Delivery[] {
    const { userId, context, channel, threadTs } = thread;
    return events.send({
      type,
      assistant_thread: { user_id: userId, context, channel_id: channel, thread_ts: threadTs },
      event_ts: state.ts(),
    });
  }

  /** The thread of a call; one outside of the pane comes to be known with its first status. */
  function called(args: Arguments, isPaneOnly: boolean): AssistantThread {
    const channel = channelFor(state, args.required("channel_id"));
    const threadTs = args.required("thread_ts");
    const known = find(channel.id, threadTs);
    if (known !== undefined) return known;
    const root = state.message(channel.id, threadTs);
    if (isPaneOnly || root === undefined) throw new SlackRefusal("invalid_thread_ts");
    const made = { channel: channel.id, threadTs, userId: root.user, context: {}, status: "", loadingMessages: [] };
    state.assistantThreads.push(made);
    return made;
  }

  function checkHasThreads(): void {
    if (!state.agent.hasAssistantThreads) throw new SlackRefusal("method_deprecated");
  }

  function directOf(args: Arguments): AssistantThread {
    const channel = channelFor(state, args.required("channel_id"));
    const known = find(channel.id, "");
    if (known !== undefined) return known;
    const userId = [...channel.members].find((member) => member !== state.app.botUserId) ?? "";
    const made = { channel: channel.id, threadTs: "", userId, context: {}, status: "", loadingMessages: [] };
    state.assistantThreads.push(made);
    return made;
  }

  return {
    methods: {
      "assistant.threads.setStatus"({ args }) {
        checkHasThreads();
        const thread = called(args, false);
        const status = args.text("status");
        if (status === undefined) throw new SlackRefusal("invalid_arguments");
        const messages = args.json("loading_messages");
        if (Array.isArray(messages) && messages.length > most("loading-messages"))
          throw new SlackRefusal("invalid_arguments");
        thread.status = status;
        thread.loadingMessages = Array.isArray(messages) ? messages.map(String) : [];
        timers.get(thread)?.();
        timers.set(
          thread,
          state.clock.after(statusMs, () => {
            thread.status = "";
            state.changed();
          }),
        );
        // The bridge: people see a text in place of the stop button.
        const bridged = status === "" ? "active" : "processing";
        sessions.set(thread.channel, thread.threadTs, bridged, "assistant.threads.setStatus");
        return {};
      },
      "assistant.threads.setTitle"({ args }) {
        checkHasThreads();
        called(args, true).title = args.required("title");
        return {};
      },
      "assistant.threads.setSuggestedPrompts"({ args }) {
        // Apps that are agents (`agent_view`) name no thread: the prompts stand in the DM.
        const thread = args.has("thread_ts") ? called(args, true) : directOf(args);
        const prompts = args.json("prompts");
        if (
          !Array.isArray(prompts) ||
          prompts.length < 1 ||
          prompts.length > most("suggested-prompts") ||
          !prompts.every(isPrompt)
        ) {
          throw new SlackRefusal("invalid_arguments");
        }
        const title = args.text("title");
        thread.prompts = { ...(title === undefined ? {} : { title }), prompts };
        return {};
      },
    },
    open(person, standingIn) {
      const channel = direct(person);
      const threadTs = state.ts();
      const thread: AssistantThread = {
        channel: channel.id,
        threadTs,
        userId: person.id,
        context: contextOf(standingIn),
        status: "",
        loadingMessages: [],
      };
      state.assistantThreads.push(thread);
      state.messages.push({
        ts: threadTs,
        channel: channel.id,
        subtype: "assistant_app_thread",
        user: state.app.botUserId,
        botId: state.app.botId,
        text: "New Assistant Thread",
        blocks: [],
        attachments: [],
        fileIds: [],
        reactions: [],
        parse: { full: false, mrkdwn: true, unfurlLinks: false, unfurlMedia: false },
        extra: { assistant_app_thread: { title: "New Assistant Thread", title_blocks: [], artifacts: [] } },
      });
      return { channel, threadTs, deliveries: sendEvent("assistant_thread_started", thread) };
    },
    move(pane, standingIn) {
      const thread = find(pane.channel.id, pane.threadTs);
      if (thread === undefined) throw new Error("slack double: no such assistant thread");
      thread.context = contextOf(standingIn);
      return sendEvent("assistant_thread_context_changed", thread);
    },
    thread: (channel, threadTs) => find(channel.id, threadTs),
  };
}

function isPrompt(value: unknown): boolean {
  return isObject(value) && typeof value.title === "string" && typeof value.message === "string";
}
