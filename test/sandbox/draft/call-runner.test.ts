/** One call over a draft: what it sees, what is merged, and what a crash at each step leaves. */
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createEvents } from "../../../src/lib/event-bus.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { CallFolder } from "../../../src/ports/draft.ts";
import type { ToolAttempt } from "../../../src/ports/tool.ts";
import { type CallRunner, createCallRunner } from "../../../src/sandbox/draft/call-runner.ts";
import { openDraftsFolder } from "../../../src/sandbox/draft/draft-folders.ts";
import { createDraftLocks } from "../../../src/sandbox/draft/draft-locks.ts";
import { createDraftStore, type DraftStore } from "../../../src/sandbox/draft/draft-store.ts";
import { createFileOrigins } from "../../../src/sandbox/draft/file-origins.ts";
import { createCallMerger } from "../../../src/sandbox/draft/merge-call.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import { createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createRecordedAudit } from "../../doubles/audit.ts";
import { listening } from "../egress/servers.ts";
import { type Bench, type CallOptions, createBench, noSandbox } from "./draft-bench.ts";

let bench: Bench;
const open = async (options: Parameters<typeof createBench>[0] = {}) => {
  bench = await createBench(options);
};
afterEach(() => bench.close());

const never = new AbortController().signal;
const fine = (text = "done"): ToolAttempt => ({ isOk: true, text, files: [], isRetryable: false });
const broken: ToolAttempt = { isOk: false, text: "it broke", files: [], isRetryable: false };
const namesIn = async (folder: string) => (await readdir(folder)).toSorted();
const append =
  (text = "x") =>
  async ({ path }: CallFolder) => {
    await writeFile(join(path, "a.txt"), text, { flag: "a" });
    return fine();
  };

describe("a call", () => {
  beforeEach(() => open());

  test("that reads gets the real folder while there is no draft, and the draft once there is one", async () => {
    await bench.write("a.txt", "real");
    const turn = await bench.startTurn();
    const read = ({ path }: CallFolder) => readFile(join(path, "a.txt"), "utf8").then(fine);
    const seen: string[] = [];
    const look = async (folder: CallFolder) => {
      seen.push(folder.path);
      return await read(folder);
    };
    expect((await bench.call(turn, look, { use: "read" })).text).toBe("real");
    await bench.call(turn, append("+draft"));
    expect((await bench.call(turn, look, { use: "read" })).text).toBe("real+draft");
    expect(seen[0]).toBe(bench.folder());
    expect(seen[1]).not.toBe(bench.folder());
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("real");
  });

  test.each(["read", "none"] as const)("that may only use the folder for %s gets no commands", async (use) => {
    const turn = await bench.startTurn();
    const { text } = await bench.call(turn, async ({ commands }) => fine(String(commands)), { use });
    expect(text).toBe("undefined");
  });

  test("that reads can change nothing through what it was given", async () => {
    const turn = await bench.startTurn();
    await bench.call(turn, append("one"));
    await bench.call(turn, append("two"), { use: "read" }).catch(() => {});
    await bench.end(turn);
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("one");
  });

  test("that says no after it changed something has its changes merged; one that broke has not", async () => {
    const turn = await bench.startTurn();
    const saysNo = async (folder: CallFolder) => {
      await writeFile(join(folder.path, "no.txt"), "");
      return { ...broken, isAnswer: true };
    };
    const breaks = async (folder: CallFolder) => {
      await writeFile(join(folder.path, "broken.txt"), "");
      return broken;
    };
    await bench.call(turn, saysNo);
    await bench.call(turn, breaks);
    await bench.end(turn);
    expect(await namesIn(bench.folder())).toEqual(["no.txt"]);
  });

  test("that throws leaves nothing, on disk either", async () => {
    const turn = await bench.startTurn();
    const throws = async (folder: CallFolder) => {
      await writeFile(join(folder.path, "a.txt"), "");
      throw new Error("a bug");
    };
    await expect(bench.call(turn, throws)).rejects.toThrow("a bug");
    expect(await bench.openDraft()).toBeUndefined();
    expect(await readdir(openDraftsFolder(bench.draftsFolder))).toEqual([]);
  });

  test("that is stopped leaves nothing, also when it says that it was done", async () => {
    const turn = await bench.startTurn();
    const abort = new AbortController();
    const stopped = async (folder: CallFolder) => {
      await writeFile(join(folder.path, "a.txt"), "");
      abort.abort();
      return fine();
    };
    await bench.call(turn, stopped, { signal: abort.signal });
    expect(await bench.openDraft()).toBeUndefined();
  });

  test("that was merged is not run again: its first answer is returned", async () => {
    const turn = await bench.startTurn();
    expect((await bench.call(turn, append(), { callId: "once" })).text).toBe("done");
    const again = await bench.call(turn, async () => fine("ran twice"), { callId: "once" });
    expect(again.text).toBe("done");
    await bench.end(turn);
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("x");
  });

  test("has read what the hosts sent that could be reached, and nothing of the others", async () => {
    const { port, close } = await listening(
      createServer((_request, response) => response.end("hello")),
      "127.0.0.3",
    );
    onTestFinished(close);
    const [reached, down] = [`127.0.0.3:${port}`, `127.0.0.4:${port}`];
    const turn = await bench.startTurn();
    const more = { network: [reached, down, "no-such-name.invalid"] };
    const command = `for host in ${more.network.join(" ")}; do curl -s http://$host/; done; true`;
    const { text, origins } = await bench.run(turn, command, more);
    expect(text).toMatch(/^hello.*can't be reached/s);
    expect(origins).toEqual([{ kind: "web", name: reached }]);
    expect((await bench.run(turn, "true", more)).origins).toEqual([]);
  });

  test("with any id keeps its files below the draft's folder", async () => {
    const turn = await bench.startTurn();
    await bench.call(turn, append(), { callId: "../../../escape/me" });
    await bench.call(turn, append(), { callId: "..%2f..%00\n" });
    await bench.end(turn);
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("xx");
    expect(await namesIn(bench.root)).toEqual(["website", "workspace"]);
  });

  test("that leaves a socket or a pipe is told that it was not kept", async () => {
    const turn = await bench.startTurn();
    const { text } = await bench.run(turn, "mkfifo pipe; echo hi > a.txt; echo made");
    expect(text).toMatch(/made[\s\S]*A socket, pipe or device was not kept/);
    await bench.end(turn);
    expect(await namesIn(bench.folder())).toEqual(["a.txt"]);
  });

  test("in a working folder that is a link works on the folder it leads to", async () => {
    await bench.write("a.txt", "one");
    const link = join(bench.root, "link");
    await symlink(bench.folder(), link);
    const turn = { ...(await bench.startTurn()), workingFolder: link };
    await bench.call(turn, append("two"));
    await bench.end(turn);
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("onetwo");
  });

  test("of many at once each joins, and none is lost", async () => {
    const turn = await bench.startTurn();
    const calls = Array.from({ length: 6 }, (_, index) =>
      bench.call(turn, async ({ path }) => {
        await writeFile(join(path, "all.txt"), `${index}\n`, { flag: "a" });
        return fine();
      }),
    );
    await Promise.all(calls);
    await bench.end(turn);
    const lines = (await readFile(join(bench.folder(), "all.txt"), "utf8")).trim().split("\n");
    expect(lines.toSorted()).toEqual(["0", "1", "2", "3", "4", "5"]);
  });
});

describe("what is kept on disk of a call", () => {
  test("holds no secret", async () => {
    await open({ redact: (text) => text.replaceAll("hunter2", "[redacted]") });
    const turn = await bench.startTurn();
    await bench.run(turn, "echo hunter2; echo x > a.txt");
    const home = join(openDraftsFolder(bench.draftsFolder), (await bench.openDraft())?.id ?? "", "joined");
    const kept = await Promise.all((await readdir(home)).map((name) => readFile(join(home, name), "utf8")));
    expect(kept.join()).toContain("[redacted]");
    expect(kept.join()).not.toContain("hunter2");
  });
});

test.runIf(process.geteuid?.() === 0)(
  "nobody else on the machine gets at a setuid program that a command has made",
  async () => {
    await open();
    const turn = await bench.startTurn();
    await bench.run(turn, "cp /bin/sh x; chmod 6755 x");
    const program = join(openDraftsFolder(bench.draftsFolder), (await bench.openDraft())?.id ?? "", "layer", "x");
    expect((await stat(program)).mode & 0o6000).toBe(0o6000);
    // setpriv keeps its own rights until it starts the shell.
    const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", '"$0" -c "id -u"'];
    const asNobody = (file: string) => spawnSync("setpriv", [...nobody, file], { encoding: "utf8" });
    expect(asNobody("/bin/sh").stdout).toBe("65534\n");
    // The same in a folder that everyone may enter, except for the folder of drafts itself.
    await chmod(dirname(bench.draftsFolder), 0o755);
    await chmod(dirname(dirname(bench.draftsFolder)), 0o755);
    expect(asNobody(program)).toMatchObject({ stdout: "", status: 126 });
    await bench.end(turn);
    expect((await stat(join(bench.folder(), "x"))).mode & 0o7777).toBe(0o755);
  },
);

describe("without a sandbox", () => {
  test("a call that writes gets the real folder and commands; one that reads gets no commands", async () => {
    await open({ sandbox: noSandbox() });
    const turn = await bench.startTurn();
    expect((await bench.run(turn, "echo hi > a.txt; pwd")).text).toBe(bench.folder());
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("hi\n");
    const { text } = await bench.call(turn, async ({ path, commands }) => fine(`${path} ${commands}`), { use: "read" });
    expect(text).toBe(`${bench.folder()} undefined`);
    await bench.end(turn);
    expect(bench.shown).toEqual([]);
  });

  test("a call that was judged while there was one is not run: nobody was asked", async () => {
    await open({ sandbox: noSandbox() });
    const { isOk, text } = await bench.run(await bench.startTurn(), "echo hi > a.txt", { isUnconfined: false });
    expect([isOk, text]).toEqual([false, expect.stringContaining("a person will be asked")]);
    expect(await readdir(bench.folder())).toEqual([]);
  });

  test("a call that was approved for a folder that is too large to copy works on the real one", async () => {
    await open();
    await bench.run(await bench.startTurn(), "echo hi > a.txt", { isUnconfined: true });
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("hi\n");
  });
});

describe("a crash", () => {
  beforeEach(() => open());

  type Step = "before the plan" | "after the plan" | "after the ledger" | "after the merge" | "after all";

  /** Throws once at the step, as on a full disk or without a ledger. Everything written before stays. */
  function crashing(store: DraftStore, step: Step): DraftStore {
    let kept = 0;
    let hasCrashed = false;
    const crash = () => {
      hasCrashed = true;
      throw new Error("crash");
    };
    return {
      ...store,
      async saveMergedCall(id, callKey, call) {
        kept += 1;
        if (!hasCrashed && kept === 1 && step === "before the plan") crash();
        if (!hasCrashed && kept === 2 && step === "after the merge") crash();
        await store.saveMergedCall(id, callKey, call);
        if (!hasCrashed && kept === 1 && step === "after the plan") crash();
        if (!hasCrashed && kept === 2 && step === "after all") crash();
      },
      async update(draft, change) {
        const updated = await store.update(draft, change);
        if (!hasCrashed && step === "after the ledger") crash();
        return updated;
      },
    };
  }

  function runnerOn(store: DraftStore): CallRunner {
    const fileOrigins = createFileOrigins(bench.ledger);
    const redact = (text: string) => text;
    return createCallRunner({
      store,
      locks: createDraftLocks(createInMemoryLeases()),
      merger: createCallMerger({ store, fileOrigins, events: createEvents(), redact, log: silentLog }),
      sandbox: bench.sandbox,
      audit: createRecordedAudit(),
      isGiven: () => false,
      unconfinedRefusal: undefined,
      environment: {},
      exposed: () => ({ readable: [], mounts: [] }),
      egress: createEgress({ allow: [], secrets: {}, log: () => {} }),
      startJob: () => Promise.reject(new Error("there are no jobs here")),
      jobsFor: () => ({ list: () => [], read: async () => undefined, stop: async () => undefined }),
      fileOrigins,
      outputsFolder: () => "/nowhere",
      boundStore: { changedSince: async () => undefined, freeze: async () => ({ layers: [], stale: [] }) },
    });
  }

  const steps = ["before the plan", "after the plan", "after the ledger", "after the merge", "after all"] as const;

  async function crashAt(step: Step, more: CallOptions = {}) {
    await bench.write("a.txt", "a");
    await bench.write("old/b.txt", "b");
    const store = createDraftStore(bench.ledger, openDraftsFolder(bench.draftsFolder));
    const turn = await bench.startTurn();
    const call = bench.callOf(turn, { callId: "crashes", ...more });
    const work = async ({ path }: CallFolder) => {
      await writeFile(join(path, "a.txt"), "x", { flag: "a" });
      await mkdir(join(path, "new"));
      await writeFile(join(path, "new", "c.txt"), "c");
      await rm(join(path, "old"), { recursive: true });
      return fine();
    };
    await expect(runnerOn(crashing(store, step)).run(call, never, work)).rejects.toThrow("crash");
    return { runner: runnerOn(store), turn, call, work };
  }

  async function expectOnce() {
    expect(await readFile(join(bench.folder(), "a.txt"), "utf8")).toBe("ax");
    expect(await readFile(join(bench.folder(), "new", "c.txt"), "utf8")).toBe("c");
    expect(await namesIn(bench.folder())).toEqual(["a.txt", "new"]);
  }

  test.each(steps)("%s: a repeated call happens once", async (step) => {
    const { runner, turn, call, work } = await crashAt(step);
    expect((await runner.run(call, never, work)).text).toBe("done");
    await bench.end(turn);
    await expectOnce();
  });

  test.each(steps)("%s: the next call sees all of it or nothing", async (step) => {
    const { runner, turn } = await crashAt(step);
    const look = async ({ path }: CallFolder) => fine((await namesIn(path)).join());
    const { text } = await runner.run(bench.callOf(turn), never, look);
    const hasNothing = step === "before the plan" || step === "after the plan";
    expect(text).toBe(hasNothing ? "a.txt,old" : "a.txt,new");
  });

  test.each(steps)("%s: a turn that ends without another call keeps all of it or nothing", async (step) => {
    const { turn } = await crashAt(step);
    await bench.end(turn);
    if (step === "before the plan" || step === "after the plan")
      expect(await namesIn(bench.folder())).toEqual(["a.txt", "old"]);
    else await expectOnce();
    expect(await readdir(openDraftsFolder(bench.draftsFolder))).toEqual([]);
  });
});
