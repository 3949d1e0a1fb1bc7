/** What the suites of the platform port share: the world that a platform's test provides, the agent's side, and cards. */
import { afterEach, beforeEach, expect } from "vitest";
import type { InboundFooterClick } from "../../src/ports/answer-footer.ts";
import type { ApprovalCard, CardItem } from "../../src/ports/card.ts";
import type {
  AnswerChoice,
  AnswerReceipt,
  InboundMessage,
  InboundPick,
  Notice,
  ReplyTarget,
} from "../../src/ports/message.ts";
import type { Platform, PlatformHandlers, Posts, Reply } from "../../src/ports/platform.ts";
import type { QuestionCard } from "../../src/ports/question.ts";

/** One message as people see it in a conversation. */
export interface ShownMessage {
  isAgents: boolean;
  /** All readable text, including cards and status lines. */
  text: string;
  /** Buttons that can be clicked now. */
  choices: AnswerChoice[];
  /** Labels of the buttons of `choices`, in any order. */
  labels?: string[];
  /** For a question: options that can be chosen now. */
  options?: string[];
  files: { name: string; content: string }[];
  /**
   * Effects of markup in the message: mentions that ping, links with another text, previews. Absent if the service has no
   * markup.
   */
  effects?: string[];
}

export interface Saying {
  /** For what must not be acknowledged: how long the service waits. By default it waits as long as a busy machine may take. */
  acknowledgeWithinMs?: number;
  text: string;
  /** `mention` starts a thread in a channel; `thread` continues the last one; `aside` addresses nobody. */
  where: "mention" | "thread" | "dm" | "aside";
  /** A display name; default Ann. */
  as?: string;
}

/** One platform on a double of its service. */
export interface PlatformWorld {
  platform: Platform;
  /** Resolves when the service gets the platform's acknowledgement. Rejects if it is refused or missing. */
  say(saying: Saying): Promise<void>;
  /** The service delivers the last message again. */
  repeat(): Promise<void>;
  /**
   * Resolves to what the person who clicked is told. Accepts any id, and any choice but `part`, even if the card has no such
   * button: services do not check what a client sends. `as` is a display name, default Ann; a second person with a name is
   * another person. The result includes the whole text of a file that only they see: in a dialog, a private message or a DM.
   */
  click(approvalId: string, choice: AnswerChoice, as?: string): Promise<string>;
  /** The same for a question's option, by index. */
  pick(questionId: string, option: number, as?: string): Promise<string>;
  /** The conversation of the last message, oldest first. */
  shown(): Promise<ShownMessage[]>;
  /** Ends the process and starts another on the same data and service. It is not yet connected. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Of the running test. */
export let world: PlatformWorld;
export let heard: Heard;

/** A new, connected platform for each test. */
export function usePlatform(createWorld: () => Promise<PlatformWorld>): void {
  beforeEach(async () => {
    world = await createWorld();
    heard = createHeard();
    await world.platform.connect(heard.handlers, new AbortController().signal);
  });
  afterEach(() => world.close());
}

export function replyTo(message: InboundMessage, posts: Posts): Reply {
  return world.platform.reply(targetOf(message), posts);
}

export async function mentioned(text = "hello"): Promise<InboundMessage> {
  await world.say({ text, where: "mention" });
  return last(heard.messages);
}

export async function agentsMessages(): Promise<ShownMessage[]> {
  return (await world.shown()).filter((message) => message.isAgents);
}

type Heard = ReturnType<typeof createHeard>;

/** The agent's side: saves messages, after `before`. */
function createHeard() {
  const heard = {
    messages: [] as InboundMessage[],
    kept: [] as InboundMessage[],
    answers: [] as Parameters<PlatformHandlers["onAnswer"]>[0][],
    picks: [] as InboundPick[],
    footerClicks: [] as InboundFooterClick[],
    receipt: { accepted: true, text: "Noted." } as AnswerReceipt,
    /** If set, messages are refused and their author is told this. */
    notice: undefined as Notice | undefined,
    /** If set, clicks can't be processed. */
    failure: undefined as Error | undefined,
    before: (): Promise<void> => Promise.resolve(),
    handlers: {} as PlatformHandlers,
  };
  heard.handlers = {
    async onMessage(message) {
      heard.messages.push(message);
      await heard.before();
      heard.kept.push(message);
      return heard.notice;
    },
    async onPick(pick) {
      heard.picks.push(pick);
      return heard.receipt;
    },
    async onAnswer(answer) {
      heard.answers.push(answer);
      if (heard.failure !== undefined) throw heard.failure;
      return heard.receipt;
    },
    onCommand: async ({ name }) => ({ text: `You said ${name}.`, isPrivate: true }),
    async onFooter(click) {
      heard.footerClicks.push(click);
      return heard.receipt;
    },
    onEdited: async () => {},
    unanswered: async () => [],
    onDeleted: async () => {},
  };
  return heard;
}

/** Posts that survive the platform, like the ledger's. Saving a key again keeps its message. */
export function createPosts(): Posts {
  const kept = new Map<string, string>();
  return {
    all: async () => [...kept].map(([key, messageId]) => ({ key, messageId })),
    keep: async (key, messageId) => {
      expect(kept.get(key) ?? messageId).toBe(messageId);
      kept.set(key, messageId);
    },
  };
}

export function targetOf(message: InboundMessage): ReplyTarget {
  const { platform, conversationId, id } = message;
  return { platform, conversationId, turnId: `turn-${id}`, messageId: id };
}

export function createCard(message: InboundMessage, changes: Partial<CardItem> = {}): ApprovalCard {
  return {
    id: "card-1",
    target: targetOf(message),
    requesterName: message.author.name,
    approversText: `${message.author.name} may answer`,
    expiresAt: Date.now() + 3_600_000,
    items: [
      {
        approvalId: "approval-1",
        tool: "shell_exec",
        callText: '{\n  "command": "rm -rf ./build"\n}',
        headline: "Run `rm -rf ./build`",
        reason: "Asks before it deletes.",
        why: ["Skill shell asks: it deletes. Pattern “rm ” (shell/SKILL.md, line 12)."],
        times: 1,
        state: "open",
        choices: ["approve", "deny"],
        ...changes,
      },
    ],
  };
}

export function createQuestion(message: InboundMessage, changes: Partial<QuestionCard> = {}): QuestionCard {
  return {
    id: "question-1",
    target: targetOf(message),
    head: `The plugin deploy asks ${message.author.name}:`,
    question: "Which *server* <b>?",
    options: ["staging", "production"],
    note: "Only Ann can answer. An answer approves nothing.",
    isOpen: true,
    ...changes,
  };
}

export function last<T>(items: T[]): T {
  const item = items.at(-1);
  if (item === undefined) throw new Error("nothing has come in");
  return item;
}
