/** The agent's side of the port, for tests: keeps what it hears, and answers what it is told to answer. */
import type { InboundFooterClick } from "../../../src/ports/answer-footer.ts";
import type { ApprovalCard } from "../../../src/ports/card.ts";
import type {
  AnswerReceipt,
  InboundAnswer,
  InboundCommand,
  InboundMessage,
  InboundPick,
  Notice,
} from "../../../src/ports/message.ts";
import type { Platform, PlatformHandlers, Posts, Reply } from "../../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform-world.ts";

export interface TestAgent {
  handlers: PlatformHandlers;
  /** Messages that were handed in, and those that were kept. */
  heard: InboundMessage[];
  kept: InboundMessage[];
  answers: InboundAnswer[];
  picks: InboundPick[];
  footerClicks: InboundFooterClick[];
  commands: InboundCommand[];
  edited: { id: string; text: string }[];
  deleted: string[];
  /** What the agent had not answered when its process was killed. */
  unanswered: InboundMessage[];
  /** Set: messages can't be kept. */
  failure: Error | undefined;
  notice: Notice | undefined;
  receipt: AnswerReceipt;
  commandText: string;
  /** Messages to the agent, as a conversation has them. */
  texts(): string[];
}

export function createTestAgent(): TestAgent {
  const agent: TestAgent = {
    heard: [],
    kept: [],
    answers: [],
    picks: [],
    footerClicks: [],
    commands: [],
    edited: [],
    deleted: [],
    unanswered: [],
    failure: undefined,
    notice: undefined,
    receipt: { accepted: true, text: "Noted." },
    commandText: "Here you are.",
    texts: () => [
      ...new Map(agent.kept.filter((each) => each.isAddressed).map((each) => [each.id, each.text])).values(),
    ],
    handlers: {
      async onMessage(message) {
        agent.heard.push(message);
        if (agent.failure !== undefined) throw agent.failure;
        agent.kept.push(message);
        return agent.notice;
      },
      async onAnswer(answer) {
        agent.answers.push(answer);
        return agent.receipt;
      },
      async onPick(pick) {
        agent.picks.push(pick);
        return agent.receipt;
      },
      async onCommand(command) {
        agent.commands.push(command);
        return { text: agent.commandText, isPrivate: true };
      },
      async onFooter(click) {
        agent.footerClicks.push(click);
        return agent.receipt;
      },
      async onEdited(_platform, id, text) {
        agent.edited.push({ id, text });
      },
      unanswered: async () => agent.unanswered,
      async onDeleted(_platform, id) {
        agent.deleted.push(id);
      },
    },
  };
  return agent;
}

export function replyTo(platform: Platform, message: InboundMessage, posts: Posts = createPosts()): Reply {
  return platform.reply(targetOf(message), posts);
}

export function cardFor(
  message: InboundMessage,
  count: number,
  changes: Partial<ApprovalCard["items"][number]> = {},
): ApprovalCard {
  const card = createCard(message, changes);
  const [item] = card.items;
  if (item === undefined) throw new Error("a card has an item");
  const items = Array.from({ length: count }, (_, index) => ({ ...item, approvalId: `approval-${index + 1}` }));
  return { ...card, items };
}
