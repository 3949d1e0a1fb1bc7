import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createThread, createWorkerThread, type Thread } from "../../src/lib/worker-thread.ts";

const open: { close(last: string): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close("close");
});

function module(answer: string): URL {
  const code = `
    import { threadId } from "node:worker_threads";
    export function serve(port) {
      port.on("message", ({ id, request }) => {
        if (request === "die") process.exit(1);
        if (request === "never") return;
        port.postMessage({ id, answer: "${answer} " + threadId });
      });
    }`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

function ask(thread: Thread, answer: string) {
  const one = createWorkerThread<string, string>({ thread, module: module(answer), options: {}, onProblem() {} });
  open.push(one);
  return one;
}

test("several modules share a thread, and each gets its own answers", async () => {
  const thread = createThread({ name: "test", maxMegabytes: 32 });
  const [one, other] = [ask(thread, "one"), ask(thread, "other")];
  const answers = await Promise.all([one.ask("a"), other.ask("b"), one.ask("c")]);
  const [id] = answers[0]?.split(" ").slice(1) ?? [];
  expect(answers).toEqual([`one ${id}`, `other ${id}`, `one ${id}`]);
});

test("a thread that dies rejects everyone who waits, and starts again with the next request", async () => {
  const thread = createThread({ name: "test", maxMegabytes: 32 });
  const [one, other] = [ask(thread, "one"), ask(thread, "other")];
  const before = await other.ask("a");
  const waiting = await Promise.allSettled([one.ask("die"), other.ask("b")]);
  expect(waiting[0]).toMatchObject({ status: "rejected", reason: new Error("the thread has ended") });
  const [after, same] = [await other.ask("c"), await one.ask("d")];
  expect(after).not.toBe(before);
  expect(same.split(" ")[1]).toBe(after.split(" ")[1]);
});

test("a module that is closed rejects what nobody will answer, and leaves the thread to the others", async () => {
  const thread = createThread({ name: "test", maxMegabytes: 32 });
  const [one, other] = [ask(thread, "one"), ask(thread, "other")];
  const [, before] = [await one.ask("a"), await other.ask("b")];
  const closed = Promise.all([one.close("close"), one.close("close")]);
  const waiting = one.ask("never");
  await Promise.all([closed, expect(waiting).rejects.toThrow("it is closed")]);
  expect(await other.ask("c")).toBe(before);
});

test("a thread that nobody has asked for a while ends, and starts again with the next request", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const thread = createThread({ name: "test", maxMegabytes: 32, maxIdleMs: 1_000 });
  const [one, other] = [ask(thread, "one"), ask(thread, "other")];
  const before = await one.ask("a");
  vi.advanceTimersByTime(999);
  expect(await one.ask("b")).toBe(before);
  const unanswered = other.ask("never");
  vi.advanceTimersByTime(10_000);
  expect(await one.ask("c")).toBe(before);
  await Promise.all([other.close("close"), expect(unanswered).rejects.toThrow("it is closed")]);
  vi.advanceTimersByTime(1_000);
  expect(await one.ask("d")).not.toBe(before);
});
