/**
 * Remembers which keys a service has refused, so that their models rest until the key changes or an hour has passed, even
 * across restarts. The store holds a digest, never the key.
 */
import { createHash } from "node:crypto";
import type { Provider } from "../ports/provider.ts";
import type { Store } from "../ports/store.ts";

export interface RefusedKeys {
  /** Reads what earlier processes have noted. Must not reject. */
  load(providers: readonly Provider[]): Promise<void>;
  /** `subject`: a provider's name, or `provider/model` if the key only lacks access to that model. */
  refuse(subject: string, provider: Provider, failure: { plain: string }): void;
  /** The failure, while the provider's key, or its access to the model, counts as refused. `message` names no place. */
  reasonOf(provider: Provider, model: string): { code: string; message: string } | undefined;
  /** The key works again. */
  accept(provider: Provider, model: string): void;
}

interface Refusal {
  digest: string;
  message: string;
  /** Milliseconds since 1970. */
  until: number;
}

const refusedMs = 3_600_000;
const digestCharacters = 16;

/** Short, because it only tells keys apart. */
export function digestOfKey(key: string): string {
  return createHash("sha256").update(`remora key ${key}`).digest("hex").slice(0, digestCharacters);
}

export function createRefusedKeys(store?: Store, now: () => number = Date.now): RefusedKeys {
  const refusals = new Map<string, Refusal>();
  const storeKey = (subject: string) => `refused-key:${subject}`;
  const digestOf = (provider: Provider) => provider.keyDigest?.() ?? "";

  function refusalFor(subject: string, provider: Provider): Refusal | undefined {
    const refusal = refusals.get(subject);
    const leftMs = (refusal?.until ?? 0) - now();
    // More is left only if somebody has set the clock back.
    const isValid = leftMs > 0 && leftMs <= refusedMs && refusal?.digest === digestOf(provider);
    return isValid ? refusal : undefined;
  }

  return {
    async load(providers) {
      const subjects = new Set(providers.flatMap(({ name, model }) => [name, model]));
      await Promise.all(
        [...subjects].map(async (subject) => {
          const stored = await store?.get(storeKey(subject)).catch(() => undefined);
          if (isRefusal(stored)) refusals.set(subject, stored);
        }),
      );
    },
    refuse(subject, provider, { plain }) {
      const refusal = { digest: digestOf(provider), message: plain, until: now() + refusedMs };
      refusals.set(subject, refusal);
      // Without the note, a restarted process asks once more and learns it again.
      store?.set(storeKey(subject), refusal, refusedMs).catch(() => {});
    },
    reasonOf(provider, model) {
      const ofKey = refusalFor(provider.name, provider);
      if (ofKey !== undefined) return { code: "provider.wrong-key", message: ofKey.message };
      const ofModel = refusalFor(model, provider);
      return ofModel && { code: "provider.forbidden", message: ofModel.message };
    },
    accept(provider, model) {
      for (const subject of [provider.name, model])
        if (refusals.delete(subject)) store?.delete(storeKey(subject)).catch(() => {});
    },
  };
}

function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== "object" || value === null) return false;
  const { digest, message, until } = value as Partial<Record<keyof Refusal, unknown>>;
  return typeof digest === "string" && typeof message === "string" && typeof until === "number";
}
