/** The process's log on standard error. Redacts each finished line so that no field or message can leak a secret. */
import pino from "pino";
import type { Log } from "./log.ts";
import type { Redact } from "./redact.ts";

export async function createLog(
  level: string,
  redact: Redact,
  stream: NodeJS.WriteStream = process.stderr,
): Promise<Log> {
  const destination = stream.isTTY ? await readable(stream) : stream;
  const log: Log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => destination.write(redact(line)) },
  );
  return log;
}

async function readable(stream: NodeJS.WriteStream): Promise<{ write(line: string): unknown }> {
  const { default: pretty } = await import("pino-pretty");
  return pretty({
    destination: stream,
    sync: true,
    colorize: true,
    ignore: "pid,hostname",
    translateTime: "SYS:HH:MM:ss",
  });
}
