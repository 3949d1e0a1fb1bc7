/**
 * Tells by an error's codes and words whether an account may not spend: its credit is used up, or a limit on spending is
 * reached. Services use many status codes for it, mostly those of too many requests. Words are read only where no code
 * says what it is, and never where they speak of a rate. An error can repeat what a person has written, so they count only
 * with a status of money, access or limits; elsewhere only as a vendor's whole sentence. What is not recognised stays what
 * its status says.
 */
import { claimOf } from "./claimed-words.ts";
import type { ErrorBody } from "./error-body.ts";

export type MoneyKind = "noCredit" | "spendLimit";

const limitCodes =
  /spend(?:ing)?_?limit|usage_limit_(?:exceeded|reached)|hard_limit|budget_(?:limit_)?exceeded|blocked_api_access|openrouter_(?:key_limit|\w+_budget)/i;
/** OpenRouter's `openrouter_in_flight_budget` is over in seconds. */
const passingCodes = /in_flight/i;
const creditCodes =
  /insufficient_(?:\w+_)?(?:quota|balance|credits?|funds)|credit_balance|billing|payment|arrearage|openrouter_credits/i;

const rateWords = /rate.?limit|\b(?:per|a|in one) (?:second|minute|min|hour|day)\b|per-minute|\b[RT]P[MDS]\b/i;
const limitWords = [
  /spend(?:ing)?[ -](?:limit|cap|budget)/i,
  /reached (?:your|the|its|an?) (?:\w+ ){0,3}(?:usage|budget|billing|monthly|quota) (?:\w+ ){0,2}(?:limit|cap)/i,
  /(?:key|usage|budget|billing|monthly|credit) (?:limit|cap) (?:has been |was |is )?(?:reached|exceeded|hit)/i,
  /(?:exceeded|exhausted|reached|hit) (?:your|the|its) (?:\w+ ){0,2}(?:budget|billing|monthly) (?:limit|cap|budget)/i,
  /budget (?:limit )?(?:has been |was |is )?(?:exceeded|exhausted|used up|reached)/i,
  /Ausgabenlimit|limite de (?:dépenses|gastos)|límite de gasto|лимит расходов|消费(?:限额|上限)|支出上限|利用限度額|지출 한도/i,
];
const creditWords = [
  /credit balance|insufficient (?:\w+ )?(?:balance|funds|credits?|quota)|out of credits?|(?:no|more|not enough) credits?\b/i,
  /credits? (?:are |is |have been |has been )?(?:depleted|exhausted|used up)|balance (?:is )?(?:too low|not enough|negative)/i,
  /account (?:\w+ ){0,6}(?:good standing|arrears|overdue)|account is not active|(?:overdue|unpaid) (?:bill|invoice|payment)/i,
  /payment required|余额不足|餘額不足|额度不足|額度不足|欠费|欠費|残高(?:が)?不足|잔액(?:이)? 부족|크레딧(?:이)? 부족/i,
  /Guthaben (?:\w+ ){0,3}(?:aufgebraucht|erschöpft|ausreichend)|solde insuffisant|saldo insuficiente|недостаточно средств/i,
];

const statusesOfMoney: ReadonlySet<number | undefined> = new Set([402, 403, 429]);
/** With statuses that say nothing of money. */
const knownSentences: readonly [RegExp, MoneyKind][] = [
  [/^You have reached your specified (?:workspace )?API usage limits\b/i, "spendLimit"],
  [/^Billing hard limit has been reached\b/i, "spendLimit"],
  [/^Your credit balance is too low\b/i, "noCredit"],
];

export function moneyKindOf(body: ErrorBody, status?: number): MoneyKind | undefined {
  const { type, code, reasons = "" } = body;
  const claim = claimOf(body.message);
  const message = statusesOfMoney.has(status) ? claim : "";
  const named = `${type} ${code} ${reasons}`;
  if (passingCodes.test(named)) return undefined;
  if (limitCodes.test(named)) return "spendLimit";
  // An empty balance names itself, and the limits share these codes.
  if (limitWords.some((words) => words.test(message)) && !rateWords.test(message)) return "spendLimit";
  if (creditCodes.test(named)) return "noCredit";
  // At the very beginning: behind the name of an error, a message of a person may stand.
  const known = knownSentences.find(([words]) => words.test(body.message));
  if (known !== undefined) return known[1];
  return creditWords.some((words) => words.test(message)) && !rateWords.test(message) ? "noCredit" : undefined;
}

/** Whether more says so than words that a person may have written. */
export function isSureOfMoney(body: ErrorBody, status: number): boolean {
  return status === 402 || moneyKindOf(body) !== undefined;
}

/** When the limit resets, in milliseconds since 1970. Undefined if the service does not say. */
export function resetOf({ resetsAt, reasons = "" }: ErrorBody, now: number): number | undefined {
  if (resetsAt !== undefined) return resetsAt > now ? resetsAt : undefined;
  // https://www.developersdigest.tech/errors/api/anthropic-api/429-enforced-spend-limit-reached
  if (!/enforced_spend_limit_reached/.test(reasons)) return undefined;
  const today = new Date(now);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1);
}
