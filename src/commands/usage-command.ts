/** `/remora usage` shows tokens and cost for the person and the conversation. Owners see the total too. */
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
  async function usageLines(label: string, subject: string, limit: number | null = null): Promise<string[]> {
    const days = await meter.days(subject);
    const today = days.find((count) => count.day === dayOf(now()));
    const ofLimit = limit === null ? "" : `, limit ${limit.toLocaleString("en")} tokens a day`;
    if (days.length === 0 && limit === null) return [];
    const all = days.length > 1 ? [`  - last ${days.length} days with use: ${countText(days.reduce(summed))}`] : [];
    return [`- **${label}**, today: ${today === undefined ? "nothing" : countText(today)}${ofLimit}`, ...all];
  }

  async function run({ platform, conversationId, scope, by }: InboundCommand): Promise<string> {
    const isChannel = scope.startsWith("channel:");
    const newest = await ledger.list("turn", { group: conversationId, order: "newest", limit: 1 });
    const lines = [
      ...(await usageLines("you", usageSubject.user(platform, by.id), limits.userTokensPerDay)),
      ...(await usageLines("this conversation", usageSubject.conversation(conversationId))),
      ...newest.map(({ body }) => `  - latest request: ${turnText(body)}`),
      ...(isChannel
        ? await usageLines("this channel", usageSubject.scope(platform, scope), limits.channelTokensPerDay)
        : []),
      ...(isOwner(platform, by) ? await usageLines("everyone", usageSubject.everyone) : []),
    ];
    if (lines.length === 0) return "No model calls yet.";
    return [...lines, "", "Days are in UTC. Tokens read from a model's cache count too."].join("\n");
  }

  return { usage: "usage", description: "show tokens and cost: yours, and this conversation's", run };
}

function countText(count: UsageCount): string {
  const number = (value: number) => value.toLocaleString("en");
  const cached = count.cacheReadTokens === 0 ? "" : `, ${number(count.cacheReadTokens)} from cache`;
  const input = count.inputTokens + count.cacheWriteTokens;
  const parts = `${number(input)} in, ${number(count.outputTokens)} out${cached}`;
  const added = Math.round(count.addedMs / count.calls);
  const calls = count.calls === 1 ? "1 model call" : `${number(count.calls)} model calls`;
  return `${calls}, ${number(tokensOf(count))} tokens (${parts}), ${costText(count)}, ${added} ms preparation per call`;
}

function costText({ cost, calls, unpricedCalls }: UsageCount): string {
  if (unpricedCalls === calls) return "cost unknown";
  const dollars = `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
  if (unpricedCalls === 0) return dollars;
  return `${dollars} plus ${unpricedCalls === 1 ? "1 call" : `${unpricedCalls} calls`} of unknown cost`;
}

function turnText({ steps }: TurnRecord): string {
  const tokens = steps.reduce((sum, step) => sum + tokensOf(step.usage), 0);
  return `${steps.length === 1 ? "1 model call" : `${steps.length} model calls`}, ${tokens.toLocaleString("en")} tokens`;
}
