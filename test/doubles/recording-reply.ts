/** A reply that records what a person would see: segments of text, cards between them, and how it ended. */
import type { ApprovalCard } from "../../src/ports/card.ts";
import type { Reply } from "../../src/ports/platform.ts";
import type { QuestionCard } from "../../src/ports/question.ts";
import type { ToolFile } from "../../src/ports/tool.ts";

export interface RecordingReply extends Reply {
  /** Texts of the closed segments and of the open one. */
  segments: string[];
  activities: string[];
  cards: Map<string, ApprovalCard>;
  questions: Map<string, QuestionCard>;
  files: ToolFile[];
  end: "open" | "finished" | "failed";
}

export function createRecordingReply(): RecordingReply {
  const cards = new Map<string, ApprovalCard>();
  const reply: RecordingReply = {
    segments: [""],
    activities: [],
    cards,
    questions: new Map(),
    files: [],
    end: "open",
    async write(text) {
      reply.segments[reply.segments.length - 1] = text;
    },
    async progress({ headline }) {
      if (reply.activities.at(-1) !== headline) reply.activities.push(headline);
    },
    async ask(card) {
      if (!cards.has(card.id)) reply.segments.push("");
      cards.set(card.id, card);
    },
    async question(card) {
      if (!reply.questions.has(card.id)) reply.segments.push("");
      reply.questions.set(card.id, card);
    },
    async settle(card) {
      cards.set(card.id, card);
    },
    async finish(text, files) {
      reply.segments[reply.segments.length - 1] = text;
      reply.files.push(...files);
      reply.end = "finished";
    },
    async fail(text) {
      reply.segments[reply.segments.length - 1] = text;
      reply.end = "failed";
    },
  };
  return reply;
}
