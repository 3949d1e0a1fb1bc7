/** Calls in a real view, over a folder that others change before and while the call runs. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, createBench, own } from "../draft/draft-bench.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
  await bench.write("deploy.sh", "echo GOOD\n");
});
afterEach(() => bench.close());

async function approved(command: string) {
  const call = { name: "shell_exec", input: { command } };
  const bound = await bench.drafts.bind({ conversationId: own, workingFolder: bench.folder(), call });
  if (bound === undefined) throw new Error("nothing is bound");
  return bound;
}

test("a script that changes after the last check of its approval, while the call waits to start, does not run", async () => {
  const bound = await approved("sh deploy.sh");
  expect(await bench.drafts.changedSince(bound)).toBeUndefined();
  await bench.write("deploy.sh", "echo EVIL\n");
  const ended = await bench.run(await bench.startTurn(), "sh deploy.sh", { bound });
  expect(ended).toMatchObject({ isOk: false, changedFiles: ["deploy.sh"] });
  expect(ended.text).not.toContain("EVIL");
});

test("a change by the draft's own conversation counts like one of the folder", async () => {
  const bound = await approved("sh deploy.sh");
  const turn = await bench.startTurn();
  await bench.run(turn, "echo 'echo EVIL' > deploy.sh");
  expect(await bench.run(turn, "sh deploy.sh", { bound })).toMatchObject({ changedFiles: ["deploy.sh"] });
});

test("a script that somebody changes while the call runs is read as it was approved", async () => {
  await bench.write("trigger", "wait\n");
  const command = "for i in $(seq 500); do grep -q go trigger && break; sleep 0.02; done; cat trigger; sh deploy.sh";
  const bound = await approved("sh deploy.sh");
  const turn = await bench.startTurn();
  const ended = bench.call(
    turn,
    async ({ path, commands }) => {
      const running = await commands?.run(command, new AbortController().signal);
      // In the same inodes, as an editor or a redirection writes. The view has been opened.
      await writeFile(join(bench.folder(), "deploy.sh"), "echo EVIL\n");
      await writeFile(join(bench.folder(), "trigger"), "go\n");
      expect(await readFile(join(path, "deploy.sh"), "utf8")).toBe("echo GOOD\n");
      const output = running === undefined ? "" : await text(running.output);
      await running?.ended;
      return { isOk: true, text: output, files: [], isRetryable: false };
    },
    { bound },
  );
  expect((await ended).text).toBe("go\nGOOD\n");
});

test("what the call writes to the files that it was approved with joins the draft", async () => {
  const bound = await approved("sh deploy.sh");
  const turn = await bench.startTurn();
  await bench.run(turn, "echo more >> deploy.sh; mkdir -p sub; echo x > sub/y; rm -f gone", { bound });
  expect((await bench.run(turn, "cat deploy.sh sub/y")).text).toBe("echo GOOD\nmore\nx");
});

test("a call that removes a folder with approved files leaves nothing of it", async () => {
  await bench.write("lib/a.sh", "echo a\n");
  await bench.write("lib/b.sh", "echo b\n");
  const bound = await approved("sh lib/a.sh");
  const turn = await bench.startTurn();
  await bench.run(turn, "rm -r lib", { bound });
  expect((await bench.run(turn, "ls")).text).toBe("deploy.sh");
});
