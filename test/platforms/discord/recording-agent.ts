/** The agent's side of a platform: keeps what comes in, and says what a test wants it to say. */
import type { InboundFooterClick } from "../../../src/ports/answer-footer.ts";
import type {
  AnswerReceipt,
  CommandReceipt,
  InboundAnswer,
  InboundCommand,
  InboundMessage,
  InboundPick,
  Notice,
} from "../../../src/ports/message.ts";
import type { PlatformHandlers } from "../../../src/ports/platform.ts";

export interface RecordingAgent {
  handlers: PlatformHandlers;
  /** Every delivery, also of what could not be kept. */
  delivered: InboundMessage[];
  kept: InboundMessage[];
  answers: InboundAnswer[];
  picks: InboundPick[];
  footerClicks: InboundFooterClick[];
  commands: InboundCommand[];
  edited: { id: string; text: string }[];
  /** The names of what edited messages had with them. */
  attached: string[];
  deleted: string[];
  /** What the agent had not answered when its process was killed. */
  unanswered: InboundMessage[];
  /** Awaited before a message is kept; rejects when it can't be. */
  beforeKeeping(message: InboundMessage): Promise<void>;
  notice: Notice | undefined;
  receipt: AnswerReceipt;
  commandReceipt: CommandReceipt;
  /** Set: nothing that people do can be taken. */
  failure: Error | undefined;
  addressed(): InboundMessage[];
}

export function createRecordingAgent(): RecordingAgent {
  const agent: RecordingAgent = {
    delivered: [],
    kept: [],
    answers: [],
    picks: [],
    footerClicks: [],
    commands: [],
    edited: [],
    attached: [],
    deleted: [],
    unanswered: [],
    beforeKeeping: async () => {},
    notice: undefined,
    receipt: { accepted: true, text: "Noted." },
    commandReceipt: { text: "Done.", isPrivate: true },
    failure: undefined,
    addressed: () => agent.kept.filter(({ isAddressed }) => isAddressed),
    handlers: {
      async onMessage(message) {
        agent.delivered.push(message);
        await agent.beforeKeeping(message);
        agent.kept.push(message);
        return agent.notice;
      },
      async onAnswer(answer) {
        agent.answers.push(answer);
        if (agent.failure !== undefined) throw agent.failure;
        return agent.receipt;
      },
      async onPick(pick) {
        agent.picks.push(pick);
        if (agent.failure !== undefined) throw agent.failure;
        return agent.receipt;
      },
      async onCommand(command) {
        agent.commands.push(command);
        if (agent.failure !== undefined) throw agent.failure;
        return agent.commandReceipt;
      },
      async onFooter(click) {
        agent.footerClicks.push(click);
        return agent.receipt;
      },
      async onEdited(_platform, id, text, attachments) {
        agent.edited.push({ id, text });
        agent.attached.push(...(attachments ?? []).map(({ name }) => name));
      },
      unanswered: async () => agent.unanswered,
      async onDeleted(_platform, id) {
        agent.deleted.push(id);
      },
    },
  };
  return agent;
}
