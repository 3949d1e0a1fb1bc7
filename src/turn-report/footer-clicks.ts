/** Handles clicks below an answer: Details, Retry, and ratings. */
import type { FooterReceipt, InboundFooterClick } from "../ports/answer-footer.ts";
import type { Author } from "../ports/message.ts";
import type { Records } from "./show-record.ts";

export interface FooterClicksOptions {
  records: Pick<Records, "show">;
  retry(turnId: string, platform: string, by: Author): Promise<FooterReceipt>;
  rate(click: InboundFooterClick): Promise<FooterReceipt>;
}

export function createFooterClicks({ records, retry, rate }: FooterClicksOptions) {
  return async (click: InboundFooterClick): Promise<FooterReceipt> => {
    const { action, turnId = "", platform, by } = click;
    switch (action) {
      case "details":
        return await records.show(turnId, platform, by);
      case "retry":
        return await retry(turnId, platform, by);
      case "good":
      case "bad":
      case "withdraw":
        return await rate(click);
      default:
        return action satisfies never;
    }
  };
}
