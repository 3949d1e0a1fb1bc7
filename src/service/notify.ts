/**
 * Tells systemd that Remora is ready, alive or stopping. Node has no datagram sockets of the local kind, so the program
 * `systemd-notify` writes the message. Does nothing without NOTIFY_SOCKET.
 */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Log } from "../lib/log.ts";

export interface ServiceNotifier {
  ready(): Promise<void>;
  stopping(): Promise<void>;
}

export interface ServiceNotifierOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Resolves to true if the process can do its work. */
  isAlive(): Promise<boolean>;
  log: Log;
  send?(message: string): Promise<void>;
}

const maxAliveMs = 10_000;
/** systemd recommends half of its limit; a third leaves room for one slow answer. */
const pingsPerLimit = 3;

export function createServiceNotifier({ env, isAlive, log, send }: ServiceNotifierOptions): ServiceNotifier {
  const socket = env.NOTIFY_SOCKET;
  if (socket === undefined || socket === "") return { ready: async () => {}, stopping: async () => {} };
  const tell = send ?? ((message: string) => runNotify(message, socket));
  const limitMs = Number(env.WATCHDOG_USEC ?? 0) / 1_000;
  let timer: NodeJS.Timeout | undefined;

  async function attempt(message: string): Promise<void> {
    try {
      await tell(message);
    } catch (thrown) {
      log.warn({ error: String(thrown) }, "systemd could not be told; is systemd-notify installed?");
    }
  }

  /** Without an answer in time, there is no ping, and systemd restarts the service. */
  async function ping(): Promise<void> {
    const late = new AbortController();
    const alive = await Promise.race([
      isAlive().catch(() => false),
      sleep(maxAliveMs, false, { signal: late.signal, ref: false }).catch(() => false),
    ]);
    late.abort();
    if (alive) await attempt("WATCHDOG=1");
    else log.error({}, "the ledger does not answer; systemd restarts Remora if that does not change");
  }

  return {
    async ready() {
      await attempt("READY=1");
      if (limitMs > 0) timer = setInterval(() => void ping(), limitMs / pingsPerLimit).unref();
    },
    async stopping() {
      clearInterval(timer);
      await attempt("STOPPING=1");
    },
  };
}

async function runNotify(message: string, socket: string): Promise<void> {
  const env = { PATH: process.env.PATH ?? "", NOTIFY_SOCKET: socket };
  await promisify(execFile)("systemd-notify", [message], { env });
}
