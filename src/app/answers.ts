/** Builds what people can do below an answer: see its record, try again, and rate it. */
import { createRetry } from "../engine/conversation/retry-turn.ts";
import type { Access } from "../ports/access.ts";
import type { Platform, PlatformHandlers } from "../ports/platform.ts";
import { createFooterClicks } from "../turn-report/footer-clicks.ts";
import { createRecords, type Records } from "../turn-report/show-record.ts";
import type { ConversationParts } from "./conversations.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export interface Answers extends Pick<PlatformHandlers, "onFooter"> {
  records: Records;
}

export interface AnswersParts extends Pick<ConversationParts, "conversations" | "reports"> {
  access: Access;
  platform(name: string): Platform | undefined;
}

export function buildAnswers(
  { settings }: AppOptions,
  { ledger }: State,
  { conversations, reports, access, platform }: AnswersParts,
): Answers {
  const records = createRecords({
    ...{ ledger, reports, withCost: settings.config.answers.cost },
    mayRead: async (name, conversationId, person) => await platform(name)?.mayRead?.(conversationId, person),
  });
  const retry = createRetry({ ledger, reports, access, accept: conversations.accept });
  const rate = async () => ({ accepted: false, text: "" });
  return { records, onFooter: createFooterClicks({ records, retry, rate }) };
}
