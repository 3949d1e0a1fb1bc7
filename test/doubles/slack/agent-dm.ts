/**
 * The DM of an app that is an agent (`agent_view`): a list of threads, the sessions, above the composer. Whatever stands at top
 * level is a row of its own, also what the app posts there. Guests can't open it.
 * Rules: dm-is-a-thread, guests-open-no-agent
 */
import { repliesOf } from "./shapes.ts";
import type { Channel, Person, SlackState, StoredMessage } from "./state.ts";
import { unescapeText } from "./wire.ts";

export interface Session {
  /** Of the thread's first message. */
  ts: string;
  /** As the app has set it; otherwise the first words. */
  title: string;
  /** The app's latest value: `active`, `processing`, `suspended`, `closed`; undefined if it has set none. */
  state: string | undefined;
  /** The words that stand in the timeline. */
  root: string;
  isAgents: boolean;
  /** The person's in the thread. */
  replies: string[];
  /** The app's in the thread. */
  answers: string[];
}

const maxTitleLength = 60;

/** As the person sees them, the newest activity first. An older app has none: its DM is one flat list. */
export function sessionsOf(state: SlackState, person: Person): Session[] {
  const direct = [...state.channels.values()].find(({ type, members }) => type === "im" && members.has(person.id));
  if (direct === undefined || !state.app.isAgent) return [];
  const isAgents = (message: StoredMessage) => message.user === state.app.botUserId;
  const texts = (messages: StoredMessage[]) => messages.map(({ text }) => unescapeText(text));
  const isRow = ({ channel, threadTs, onlyFor }: StoredMessage) =>
    channel === direct.id && threadTs === undefined && onlyFor === undefined;
  return state.messages
    .filter(isRow)
    .map((root) => ({ root, below: repliesOf(state, direct.id, root.ts) }))
    .sort((one, other) => lastOf(other) - lastOf(one))
    .map(({ root, below }) => {
      const known = state.assistantThreads.find((one) => one.channel === direct.id && one.threadTs === root.ts);
      const [words = ""] = texts([root]);
      return {
        ts: root.ts,
        title: known?.title ?? words.slice(0, maxTitleLength),
        state: known?.session,
        root: words,
        isAgents: isAgents(root),
        replies: texts(below.filter((message) => !isAgents(message))),
        answers: texts(below.filter(isAgents)),
      };
    });
}

/** Slack doesn't let guests open the app, so they can't write either. Mentions in channels are something else. */
export function checkMayOpen(state: SlackState, person: Person, channel: Channel): void {
  const isAgentsDm = channel.type === "im" && channel.members.has(state.app.botUserId) && state.app.isAgent;
  const isGuest = person.isGuest || person.isSingleChannelGuest;
  if (isAgentsDm && isGuest) throw new Error(`slack double: ${person.displayName} is a guest, who can't open an agent`);
}

function lastOf({ root, below }: { root: StoredMessage; below: StoredMessage[] }): number {
  return Math.max(...[root, ...below].map(({ ts }) => Number(ts)));
}
