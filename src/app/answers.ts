/** Builds what people can do below an answer: see its record, try again, and rate it. */
import { createRetry } from "../engine/conversation/retry-turn.ts";
import type { BarredBecause } from "../ports/access.ts";
import type { Memory } from "../ports/memory.ts";
import type { Platform, PlatformHandlers } from "../ports/platform.ts";
import { createFooterClicks } from "../turn-report/footer-clicks.ts";
import { createRatings, type KeptRatings } from "../turn-report/ratings.ts";
import { createRecords, type Records } from "../turn-report/show-record.ts";
import type { ConversationParts } from "./conversations.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export interface Answers extends Pick<PlatformHandlers, "onFooter"> {
  records: Records;
  ratings: KeptRatings;
}

export interface AnswersParts extends Pick<ConversationParts, "conversations" | "reports"> {
  memory: Pick<Memory, "recordFeedback">;
  barredBecause: BarredBecause;
  platform(name: string): Platform | undefined;
}

export function buildAnswers(
  { settings }: AppOptions,
  { ledger }: State,
  { conversations, reports, memory, barredBecause, platform }: AnswersParts,
): Answers {
  const records = createRecords({
    ...{ ledger, reports, barredBecause, withCost: () => settings.config.answers.cost },
    mayRead: async (name, conversationId, person) => await platform(name)?.mayRead?.(conversationId, person),
  });
  const retry = createRetry({ ledger, reports, barredBecause, accept: conversations.accept });
  const ratings = createRatings({ ledger, memory, records, isOn: settings.config.answers.feedback });
  return { records, ratings, onFooter: createFooterClicks({ records, retry, rate: ratings.rate }) };
}
