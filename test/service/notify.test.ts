import { expect, test, vi } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createServiceNotifier } from "../../src/service/notify.ts";

const env = { NOTIFY_SOCKET: "/run/systemd/notify", WATCHDOG_USEC: "30000" };

test("systemd hears of the start, then of each sign of life, then of the end", async () => {
  const sent: string[] = [];
  const send = async (message: string) => void sent.push(message);
  const notifier = createServiceNotifier({ env, isAlive: async () => true, log: silentLog, send });
  await notifier.ready();
  await vi.waitFor(() => expect(sent.slice(0, 3)).toEqual(["READY=1", "WATCHDOG=1", "WATCHDOG=1"]));
  await notifier.stopping();
  expect(sent.at(-1)).toBe("STOPPING=1");
});

test("a process that can't do its work gives no sign of life", async () => {
  const sent: string[] = [];
  const send = async (message: string) => void sent.push(message);
  const isAlive = vi.fn(async () => Promise.reject<boolean>(new Error("the ledger is gone")));
  const notifier = createServiceNotifier({ env, isAlive, log: silentLog, send });
  await notifier.ready();
  await vi.waitFor(() => expect(isAlive.mock.calls.length).toBeGreaterThan(3));
  expect(sent).toEqual(["READY=1"]);
  await notifier.stopping();
});

test("without systemd, or if it can't be told, Remora runs all the same", async () => {
  const send = vi.fn(async () => Promise.reject(new Error("no systemd-notify")));
  await createServiceNotifier({ env: {}, isAlive: async () => true, log: silentLog, send }).ready();
  expect(send).not.toHaveBeenCalled();
  await createServiceNotifier({
    env: { NOTIFY_SOCKET: "/x" },
    isAlive: async () => true,
    log: silentLog,
    send,
  }).ready();
  expect(send).toHaveBeenCalledTimes(1);
});
