/** A log that keeps what it is told, for tests. */
import type { Log } from "../../src/lib/log.ts";

export interface LogEntry {
  level: keyof Log;
  fields: object;
  message: string;
}

/** Without `debug`, which nobody reads unless they look for something. */
export function recordingLog(): { log: Log; entries: LogEntry[] } {
  const entries: LogEntry[] = [];
  const keep = (level: keyof Log) => (fields: object, message: string) => void entries.push({ level, fields, message });
  return { log: { debug() {}, info: keep("info"), warn: keep("warn"), error: keep("error") }, entries };
}
