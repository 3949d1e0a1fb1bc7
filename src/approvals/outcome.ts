/** What became of an approval, in one line: on its card, and in a receipt for a late click. */

import type { Mask } from "../lib/redact.ts";
import { namesText } from "../lib/text/names-text.ts";
import { sentence } from "../lib/text/sentence.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import type { LedgerEntry } from "../ports/ledger.ts";
import { budgetLabels, budgetSentence } from "./budget-text.ts";
import { cleaner } from "./card-text.ts";
import { callHeadline } from "./headline.ts";

export type SettledRow = Pick<LedgerEntry<"approval">, "body" | "state">;

const maxNamedCharacters = 140;

/** The one line of a settled card: who decided, for whom, and what happened. `headline` is the card's. */
export function settledLine({ body, state }: SettledRow, headline: string, mask: Mask): string {
  const clean = cleaner(mask);
  // Only the headline marks code.
  const plain = (text: string) => clean(text).replaceAll("`", "'");
  const deciders = deciderNames(body);
  const who = plain(namesText(deciders)).replace(/^the operator\b/, "The operator");
  const isOwn = [...body.votes.map(({ by }) => by.id), body.decidedBy?.id].includes(body.requester.id);
  const what = `${named(headline)}${isOwn ? "" : ` for ${plain(body.requester.name)}`}`;
  const why = body.reason === undefined ? "" : ` ${plain(sentence(body.reason))}`;
  const { changes, budget, votes, quorum } = body;
  const nothing = changes === undefined ? "It did not run." : "Nothing was kept.";
  if (budget !== undefined && body.decidedBy !== undefined) {
    const { approve, deny } = budgetLabels(budget);
    return `${who} chose “${state === "denied" ? deny : approve}”. ${plain(budgetSentence(budget))}`;
  }
  switch (state) {
    case "open":
      return "Waiting for an answer";
    case "approved":
    case "consumed": {
      if (changes?.kind === "report") return reportLine(plain(changes.result ?? "Kept"), plain(changes.shown.title));
      const result = changes?.result === undefined ? "" : plain(changes.result);
      const isGranted = body.grantIds.length > 0;
      if (changes?.mayRunAgain === true)
        return `${result} ${who} had ${isGranted ? "allowed" : "approved"} ${what}${isGranted ? " in advance" : ""}`;
      if (isGranted) return `${who} had allowed ${what} in advance${result === "" ? "" : `. ${result}`}`;
      return `${who} ${approvedText(body, headline, what, mask)}${result === "" ? "" : `. ${result}`}`;
    }
    case "denied":
      if (body.decidedBy === undefined) return `Not approved: ${what}. ${nothing}${why}`;
      return `${who} ${deniedWord(body)} ${what}${body.reason === undefined ? "." : `: “${plain(body.reason)}”`} ${nothing}`;
    case "expired":
      if (votes.length >= quorum) return `${who} approved ${what}, but it expired first. ${nothing}`;
      return `Nobody answered in time: ${what}. ${nothing}`;
    case "cancelled":
      return changes === undefined ? `Cancelled: ${what}. ${nothing}${why}` : plain(body.reason ?? "Cancelled");
    default:
      return state satisfies never;
  }
}

/** `result` is `Kept`, or `Kept, then undone by Ann.` */
function reportLine(result: string, title: string): string {
  return `${result.replace(/^Kept\b/, "Kept without asking").replace(/\.$/, "")} — ${title}`;
}

function approvedText({ original, ask }: ApprovalRecord, headline: string, what: string, mask: Mask): string {
  if (original === undefined) return `approved ${what}`;
  const before = named(callHeadline(original, ask, mask).text);
  return before === named(headline) ? `edited and approved ${what}` : `changed ${before} to ${what} and approved it`;
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
  return changes?.shown.labels.deny === "Discard" ? "discarded" : "denied";
}

function deciderNames({ votes, decidedBy }: ApprovalRecord): string[] {
  const names = votes.length > 0 ? votes.map((vote) => vote.by.name) : [decidedBy?.name ?? "somebody"];
  return [...new Set(names)];
}
