/** Asks once more without a parameter that a service refuses by name, and remembers that for a while. */
import type { ModelEvent } from "../ports/provider.ts";

export interface OptionalParameter {
  name: string;
  /** Matches what services say when they refuse it. */
  refused: RegExp;
}

export interface ParameterFallback {
  /** `sent`: the parameters that a request to this model would have; the first one that a refusal names is left out. */
  stream(
    model: string,
    sent: readonly OptionalParameter[],
    ask: (leftOut: ReadonlySet<string>) => AsyncIterable<ModelEvent>,
  ): AsyncGenerator<ModelEvent>;
}

/** Then a parameter is tried again, because the operator may have changed what serves the model. */
const maxRefusedMs = 3_600_000;

export function createParameterFallback(now: () => number = Date.now): ParameterFallback {
  const refusedUntil = new Map<string, number>();

  return {
    async *stream(model, sent, ask) {
      const keyOf = ({ name }: OptionalParameter) => `${name} ${model}`;
      const known = sent.filter((one) => (refusedUntil.get(keyOf(one)) ?? 0) > now());
      const leftOut = new Set(known.map(({ name }) => name));
      let refused: OptionalParameter | undefined;
      do {
        refused = undefined;
        let isFirst = true;
        for await (const event of ask(leftOut)) {
          if (isFirst && event.type === "error" && event.error.code === "provider.bad-request") {
            const { message } = event.error;
            refused = sent.find((one) => !leftOut.has(one.name) && one.refused.test(message));
            if (refused !== undefined) break;
          }
          isFirst = false;
          yield event;
        }
        if (refused !== undefined) {
          leftOut.add(refused.name);
          refusedUntil.set(keyOf(refused), now() + maxRefusedMs);
        }
      } while (refused !== undefined);
    },
  };
}
