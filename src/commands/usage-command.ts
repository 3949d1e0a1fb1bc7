/** `/remora usage`: what the person, this conversation and, for owners, everyone has used. */

import type { CommandHandler } from "../ports/command.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Author, InboundCommand } from "../ports/message.ts";
import type { TurnRecord } from "../ports/turn.ts";
import {
  dayOf,
  summed,
  tokensOf,
  type UsageCount,
  type UsageLimits,
  type UsageMeter,
  usageSubject,
} from "../ports/usage.ts";

export interface UsageCommandOptions {
  meter: UsageMeter;
  ledger: Ledger;
  limits: UsageLimits;
  isOwner(platform: string, by: Author): boolean;
  now?: () => number;
}

export function usageCommand({ meter, ledger, limits, isOwner, now = Date.now }: UsageCommandOptions): CommandHandler {
  async function lineOf(label: string, subject: string, limit: number | null = null): Promise<string[]> {
    const days = await meter.days(subject);
    const today = days.find((count) => count.day === dayOf(now()));
    const of = limit === null ? "" : `, of ${limit.toLocaleString("en")} tokens a day`;
    if (days.length === 0 && limit === null) return [];
    const all =
      days.length > 1 ? [`  - in the ${days.length} days that are kept: ${figuresOf(days.reduce(summed))}`] : [];
    return [`- **${label}**, today: ${today === undefined ? "nothing" : figuresOf(today)}${of}`, ...all];
  }

  async function run({ platform, conversationId, scope, by }: InboundCommand): Promise<string> {
    const isChannel = scope.startsWith("channel:");
    const newest = await ledger.list("turn", { group: conversationId, order: "newest", limit: 1 });
    const lines = [
      ...(await lineOf("you", usageSubject.user(platform, by.id), limits.userTokensPerDay)),
      ...(await lineOf("this conversation", usageSubject.conversation(conversationId))),
      ...newest.map(({ body }) => `  - its newest turn: ${turnText(body)}`),
      ...(isChannel
        ? await lineOf("this channel", usageSubject.scope(platform, scope), limits.channelTokensPerDay)
        : []),
      ...(isOwner(platform, by) ? await lineOf("everyone", usageSubject.everyone) : []),
    ];
    if (lines.length === 0) return "No model was asked for you or here yet.";
    return [...lines, "", "Days are UTC; what was read from a model's cache counts too."].join("\n");
  }

  return { usage: "usage", description: "tokens and cost: yours, and of this conversation", run };
}

function figuresOf(count: UsageCount): string {
  const number = (value: number) => value.toLocaleString("en");
  const cached = count.cacheReadTokens === 0 ? "" : `, ${number(count.cacheReadTokens)} from cache`;
  const input = count.inputTokens + count.cacheWriteTokens;
  const parts = `${number(input)} in, ${number(count.outputTokens)} out${cached}`;
  const added = Math.round(count.addedMs / count.calls);
  const calls = count.calls === 1 ? "1 model call" : `${number(count.calls)} model calls`;
  return `${calls}, ${number(tokensOf(count))} tokens (${parts}), ${costText(count)}, ${added} ms added before a call`;
}

/** What has no price is unknown, and never shown as nothing. */
function costText({ cost, calls, unpricedCalls }: UsageCount): string {
  if (unpricedCalls === calls) return "cost unknown";
  const dollars = `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
  if (unpricedCalls === 0) return dollars;
  return `${dollars} and the unknown cost of ${unpricedCalls === 1 ? "1 call" : `${unpricedCalls} calls`}`;
}

function turnText({ steps }: TurnRecord): string {
  const tokens = steps.reduce((sum, step) => sum + tokensOf(step.usage), 0);
  return `${steps.length === 1 ? "1 model call" : `${steps.length} model calls`}, ${tokens.toLocaleString("en")} tokens`;
}
