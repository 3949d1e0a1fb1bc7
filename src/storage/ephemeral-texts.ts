/** Keeps texts in memory alone, and shares them with the other processes by the bus, which stores nothing either. */
import { createLruMap } from "../lib/lru-map.ts";
import type { Bus } from "../ports/cluster.ts";
import type { EphemeralTexts } from "../ports/ephemeral.ts";

const maxTexts = 1_000;
const maxAgeMs = 3_600_000;

export function createEphemeralTexts(bus: Bus, now = Date.now): EphemeralTexts {
  const texts = createLruMap<{ text: string; at: number }>(maxTexts);

  bus.listen((message) => {
    if (message.type !== "ephemeral") return;
    const { key, text } = message;
    const at = now();
    texts.deleteWhere((held, each) => at - each.at > maxAgeMs || (text === undefined && held.startsWith(key)));
    if (text !== undefined) texts.set(key, { text, at });
  });

  return {
    put: (key, text) => bus.publish({ type: "ephemeral", key, text }),
    get(key) {
      const held = texts.get(key);
      return held === undefined || now() - held.at > maxAgeMs ? undefined : held.text;
    },
    drop: (start) => bus.publish({ type: "ephemeral", key: start }),
  };
}
