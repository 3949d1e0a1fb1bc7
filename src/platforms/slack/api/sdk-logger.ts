/** Our log for the SDK. Logs everything at debug level, because failures also arrive as errors and are logged there. */
import type { Logger } from "@slack/bolt";
import { LogLevel } from "@slack/bolt";
import type { Log } from "../../../lib/log.ts";

export function createSdkLogger(log: Log): Logger {
  const tell = (...words: unknown[]) => log.debug({ from: "the Slack SDK" }, words.map(String).join(" "));
  return {
    // Drop debug lines: they contain complete payloads, and formatting them takes time.
    debug() {},
    info: tell,
    warn: tell,
    error: tell,
    getLevel: () => LogLevel.INFO,
    setLevel() {},
    setName() {},
  };
}
