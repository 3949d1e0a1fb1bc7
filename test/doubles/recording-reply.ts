/** A reply that records what a person would see: segments of text, cards between them, and how it ended. */
import type { AnswerFooter } from "../../src/ports/answer-footer.ts";
import type { ApprovalCard, CardNote } from "../../src/ports/card.ts";
import type { Reply } from "../../src/ports/platform.ts";
import type { QuestionCard } from "../../src/ports/question.ts";
import type { ToolFile } from "../../src/ports/tool.ts";

export interface RecordingReply extends Reply {
  /** Texts of the closed segments and of the open one. */
  segments: string[];
  activities: string[];
  cards: Map<string, ApprovalCard>;
  notes: Map<string, CardNote>;
  questions: Map<string, QuestionCard>;
  files: ToolFile[];
  footer?: AnswerFooter;
  end: "open" | "finished" | "failed";
}

export function createRecordingReply(): RecordingReply {
  const cards = new Map<string, ApprovalCard>();
  const reply: RecordingReply = {
    segments: [""],
    activities: [],
    cards,
    notes: new Map(),
    questions: new Map(),
    files: [],
    end: "open",
    async write(text) {
      reply.segments[reply.segments.length - 1] = text;
    },
    async progress({ headline }) {
      if (reply.activities.at(-1) !== headline) reply.activities.push(headline);
    },
    async park() {},
    async ask(card) {
      if (!cards.has(card.id)) reply.segments.push("");
      cards.set(card.id, card);
    },
    async question(card) {
      if (!reply.questions.has(card.id)) reply.segments.push("");
      reply.questions.set(card.id, card);
    },
    async note(note) {
      reply.notes.set(note.key, note);
      return note.key;
    },
    async settle(card) {
      cards.set(card.id, card);
    },
    async finish(text, files, footer, notes) {
      if (footer !== undefined) reply.footer = footer;
      reply.segments[reply.segments.length - 1] = [text, notes].filter(Boolean).join("\n\n");
      reply.files.push(...files);
      reply.end = "finished";
    },
    async fail(text, reason, footer) {
      if (footer !== undefined) reply.footer = footer;
      reply.segments[reply.segments.length - 1] = [text, reason].filter(Boolean).join("\n\n");
      reply.end = "failed";
    },
  };
  return reply;
}
