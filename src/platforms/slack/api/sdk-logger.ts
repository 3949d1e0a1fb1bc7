/** The SDK's logger over ours. What it reports goes to debug: whatever matters comes back as an error, and is told there. */
import type { Logger } from "@slack/bolt";
import { LogLevel } from "@slack/bolt";
import type { Log } from "../../../lib/log.ts";

export function createSdkLogger(log: Log): Logger {
  const tell = (...words: unknown[]) => log.debug({ from: "the Slack SDK" }, words.map(String).join(" "));
  return {
    // Its debug lines hold whole payloads, and are made even when nobody reads them.
    debug() {},
    info: tell,
    warn: tell,
    error: tell,
    getLevel: () => LogLevel.INFO,
    setLevel() {},
    setName() {},
  };
}
