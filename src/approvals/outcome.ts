/** What became of an approval, in one line: on its card, and in a receipt for a late click. */
import { shorten } from "../lib/text/shorten.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import type { LedgerEntry } from "../ports/ledger.ts";
import { budgetLabels, budgetSentence } from "./budget-text.ts";

export type SettledRow = Pick<LedgerEntry<"approval">, "body" | "state">;

const maxNamedCharacters = 140;

/** The one line of a settled card. `headline` is the card's; `clean` makes all other text safe for a card. */
export function settledLine({ body, state }: SettledRow, headline: string, clean: (text: string) => string): string {
  // Only the headline marks code.
  const plain = (text: string) => clean(text).replaceAll("`", "'");
  const what = named(headline);
  const who = plain(deciderNames(body)).replace(/^the operator\b/, "The operator");
  const why = body.reason === undefined ? "" : `: ${plain(body.reason)}`;
  if (body.budget !== undefined && body.decidedBy !== undefined) {
    const { approve, deny } = budgetLabels(body.budget);
    return `${who} chose “${state === "denied" ? deny : approve}”. ${plain(budgetSentence(body.budget))}`;
  }
  switch (state) {
    case "open":
      return "Waiting for an answer";
    case "approved":
    case "consumed": {
      const { changes } = body;
      if (changes?.kind === "report") return `${plain(changes.result ?? "Kept")} — ${plain(changes.shown.title)}`;
      if (body.grantIds.length > 0) return `${who} had allowed ${what} in advance`;
      const result = changes?.result === undefined ? "" : `. ${plain(changes.result)}`;
      return `${who} ${body.original === undefined ? "" : "edited and "}approved ${what}${result}`;
    }
    case "denied":
      if (body.decidedBy === undefined) return `Not approved: ${what}${why}`;
      return `${who} ${deniedWord(body).toLowerCase()} ${what}${why}`;
    case "expired":
      return `${body.votes.length >= body.quorum ? "Expired before it ran" : "Nobody answered in time"}: ${what}`;
    case "cancelled":
      return body.changes === undefined ? `Cancelled ${what}${why}` : plain(body.reason ?? "Cancelled");
    default:
      return state satisfies never;
  }
}

/** A command speaks for itself; other headlines are quoted. */
function named(headline: string): string {
  const [, code] = /^(?:Run|Use) `([^`]+)`$/.exec(headline) ?? [];
  if (code !== undefined) return `\`${shorten(code, maxNamedCharacters)}\``;
  const text = shorten(headline, maxNamedCharacters);
  return `“${text}${(text.split("`").length - 1) % 2 === 1 ? "`" : ""}”`;
}

/** Uses the same word as the button that was pressed. */
function deniedWord({ changes }: ApprovalRecord): string {
  return changes?.shown.labels.deny === "Discard" ? "Discarded" : "Denied";
}

function deciderNames({ votes, decidedBy }: ApprovalRecord): string {
  const names = votes.length > 0 ? votes.map((vote) => vote.by.name) : [decidedBy?.name ?? "somebody"];
  return [...new Set(names)].join(", ");
}
