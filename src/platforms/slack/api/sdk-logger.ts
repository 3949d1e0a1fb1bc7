/** Our log for the SDK. Everything goes to debug: failures also arrive as errors and are logged there. */
import type { Logger } from "@slack/bolt";
import { LogLevel } from "@slack/bolt";
import type { Log } from "../../../lib/log.ts";

export function createSdkLogger(log: Log): Logger {
  const tell = (...words: unknown[]) => log.debug({ from: "the Slack SDK" }, words.map(String).join(" "));
  return {
    // Debug lines contain whole payloads, and formatting them costs time.
    debug() {},
    info: tell,
    warn: tell,
    error: tell,
    getLevel: () => LogLevel.INFO,
    setLevel() {},
    setName() {},
  };
}
