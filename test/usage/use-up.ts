/** Asks a model that costs between nothing and a tenth of a dollar per call, several calls at once, until nothing is left. */
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createUsageMeter } from "../../src/usage/usage.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { noDollarLimits, noLimits } from "../doubles/turn-deps.ts";

export const cap = 2;
export const maxCallCost = 0.1;
const parallel = 4;
const model = "test/one";

export async function useUp(ledger: Ledger, name: string): Promise<number[]> {
  const meter = createUsageMeter({
    ...{ ledger, log: silentLog, priceOf: () => ({ input: 0, output: 1 }) },
    limits: { ...noLimits, dollars: { ...noDollarLimits, user: cap } },
    estimate: { promptTokens: 0, outputTokens: 100_000, modelOf: async () => model, fallbacks: () => [] },
  });
  const spent: number[] = [];

  async function work(lane: number): Promise<void> {
    for (let call = 0; ; call += 1) {
      const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
      const turn = turnRecord({ id: `${name}-${lane}-${call}`, messages: [inboundMessage({ author })] });
      const permit = await meter.admit(turn);
      if (permit.type !== "admitted") return;
      const outputTokens = 1 + Math.floor(Math.random() * 100_000);
      await new Promise((resolve) => setImmediate(resolve));
      const { cost = 0, written } = permit.count({ model, usage: { ...noUsage, outputTokens }, addedMs: 0 });
      await written;
      spent.push(cost);
    }
  }

  await Promise.all(Array.from({ length: parallel }, (_, lane) => work(lane)));
  return spent;
}
