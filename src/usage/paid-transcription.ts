/** Listens to recordings only within the budgets of who asks, and counts them there. */
import type { Transcribe } from "../ports/turn-files.ts";
import type { UsageMeter } from "../ports/usage.ts";

export interface PaidTranscriptionOptions {
  listen(
    file: Parameters<Transcribe>[0],
    signal: AbortSignal,
  ): Promise<({ text: string } | { problem: string }) & { isHeard: boolean; seconds?: number }>;
  /** `provider/model`, as in the table of prices. */
  model: string;
  /** Undefined if unknown. */
  dollarsPerMinute: number | undefined;
  usage: Pick<UsageMeter, "admitAside">;
}

/** Speech is hardly ever encoded with less. */
const minBytesPerSecond = 2_000;
const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export function createPaidTranscription(options: PaidTranscriptionOptions): Transcribe {
  const { listen, model, dollarsPerMinute, usage } = options;

  function costOf(seconds: number | undefined): { cost?: number } {
    if (dollarsPerMinute === undefined || seconds === undefined) return {};
    return { cost: (dollarsPerMinute * seconds) / 60 };
  }

  return async (file, signal) => {
    const { cost: dollars = 0 } = costOf(file.seconds ?? file.bytes / minBytesPerSecond);
    const permit = await usage.admitAside(file.payer, { model, dollars }, signal);
    if (permit.type !== "admitted")
      return { problem: `I did not listen to this recording. ${permit.sentence} Send it again later, or write.` };
    try {
      const { isHeard, seconds, ...said } = await listen(file, signal);
      const call = { model, usage: noTokens, addedMs: 0, ...costOf(seconds ?? file.seconds) };
      if (isHeard) await permit.count(call).written;
      return said;
    } finally {
      await permit.end();
    }
  };
}
