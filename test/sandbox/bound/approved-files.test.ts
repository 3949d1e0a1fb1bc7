/** Calls in a real view, over a folder that others change before and while the call runs. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
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
  const bound = await approved("sh deploy.sh");
  const turn = await bench.startTurn();
  const ended = bench.call(
    turn,
    async ({ path, commands }) => {
      // In the same inode, as an editor or a redirection writes. The view has been opened.
      await writeFile(join(bench.folder(), "deploy.sh"), "echo EVIL\n");
      expect(await readFile(join(path, "deploy.sh"), "utf8")).toBe("echo GOOD\n");
      const running = await commands?.run("sh deploy.sh", new AbortController().signal);
      const output = running === undefined ? "" : await text(running.output);
      await running?.ended;
      return { isOk: true, text: output, files: [], isRetryable: false };
    },
    { bound },
  );
  expect((await ended).text).toBe("GOOD\n");
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

/** Ways to open a file that no text names. In a folder that can be kept whole, none of them needs to be found. */
test.each([
  ["a linked folder", "bash current/run.sh", { current: "-> rel", "rel/run.sh": "echo GOOD\n" }, "rel/run.sh"],
  ["its link", "bash current/run.sh", { current: "-> rel", "rel/run.sh": "echo GOOD\n" }, "current"],
  ["the parent's path", 'bash ../"$(basename "$PWD")"/deploy.sh', {}, "deploy.sh"],
  ["an argument", "bash go.sh a", { "go.sh": ". ./env/$1.sh\n", "env/a.sh": "echo GOOD\n" }, "env/a.sh"],
  ["a joined path", "bash go.sh", { "go.sh": 'a=env; b=a.sh; sh "$a/$b"\n', "env/a.sh": "echo GOOD\n" }, "env/a.sh"],
  [
    "a list",
    "bash go.sh",
    { "go.sh": "sh $(cat list.txt)\n", "list.txt": "a.sh\n", "a.sh": "echo GOOD\n" },
    "list.txt",
  ],
  ["a new file", "bash go.sh", { "go.sh": "[ -e on ] && echo EVIL || echo GOOD\n" }, "on"],
])("what is opened by way of %s is what was there when people were asked", async (_way, command, files, path) => {
  const write = async (name: string, content: string) => {
    if (!content.startsWith("-> ")) return await bench.write(name, content);
    await rm(join(bench.folder(), name), { force: true });
    await symlink(content.slice(3), join(bench.folder(), name));
  };
  for (const [name, content] of Object.entries({ "b.sh": "echo EVIL\n", "other/run.sh": "echo EVIL\n", ...files }))
    await write(name, content);
  const bound = await approved(command);
  await write(path, { "list.txt": "b.sh\n", current: "-> other" }[path] ?? "echo EVIL\n");
  const ended = await bench.run(await bench.startTurn(), command, { bound });
  expect(ended.text).not.toContain("EVIL");
  if (ended.changedFiles === undefined) expect(ended.text).toBe("GOOD");
});

test("an approved call beside a log that grows runs, and a newer version of a file is not overwritten by an older one", async () => {
  await bench.write("notes.log", "one\n");
  const bound = await approved("make -s all; true");
  await bench.write("notes.log", "one\ntwo\n");
  const turn = await bench.startTurn();
  const ended = await bench.run(turn, "cat notes.log; echo three >> notes.log", { bound });
  expect(ended.text).toMatch(/^one\n[\s\S]*None of this call's changes were kept: notes\.log has changed/);
  expect((await bench.run(turn, "cat notes.log")).text).toBe("one\ntwo");
});

test("what appears below a link of before leads no whiteout out of the folder", async () => {
  const outside = await mkdtemp(join(tmpdir(), "outside-"));
  onTestFinished(() => rm(outside, { recursive: true }));
  await symlink(outside, join(bench.folder(), "current"));
  const bound = await approved("sh deploy.sh");
  await rm(join(bench.folder(), "current"));
  await bench.write("current/nologin", "x\n");
  expect((await bench.run(await bench.startTurn(), "sh deploy.sh", { bound })).text).toBe("GOOD");
  expect(await readdir(outside)).toEqual([]);
});

test.each([
  ["a file", "notes.txt", "x\n"],
  ["a dangling link", "notes.txt", "-> nowhere"],
])("an approved call runs although %s has become a folder since", async (_what, name, content) => {
  if (content.startsWith("-> ")) await symlink(content.slice(3), join(bench.folder(), name));
  else await bench.write(name, content);
  const bound = await approved("sh deploy.sh");
  await rm(join(bench.folder(), name));
  await bench.write(`${name}/x`, "x\n");
  expect((await bench.run(await bench.startTurn(), "sh deploy.sh", { bound })).text).toBe("GOOD");
});

test("a pipe that becomes a script after people were asked does not run", async () => {
  await bench.write("go.sh", ". ./lib/$1.sh; echo GOOD\n");
  await mkdir(join(bench.folder(), "lib"));
  execFileSync("mkfifo", [join(bench.folder(), "lib/x.sh")]);
  const bound = await approved("sh go.sh x");
  await rm(join(bench.folder(), "lib/x.sh"));
  await bench.write("lib/x.sh", "echo EVIL\n");
  expect((await bench.run(await bench.startTurn(), "sh go.sh x", { bound })).text).not.toContain("EVIL");
});

test("a call that moves or removes a folder in which something newer appeared keeps nothing", async () => {
  for (const command of ["mv d e", "rm -rf d", "rm -rf d; echo x > d", "tar czf d.tgz d && rm -rf d"]) {
    await bench.write("d/a.txt", "old\n");
    const bound = await approved("sh deploy.sh");
    await bench.write("d/b.txt", "newer\n");
    const turn = await bench.startTurn();
    expect((await bench.run(turn, command, { bound })).text).toMatch(
      /None of this call's changes were kept: d\/b\.txt/,
    );
    expect((await bench.run(turn, "cat d/b.txt")).text).toBe("newer");
    await rm(join(bench.folder(), "d"), { recursive: true });
  }
});

test("an approved call can remove a folder with a pipe that was there before", async () => {
  await mkdir(join(bench.folder(), "run"));
  execFileSync("mkfifo", [join(bench.folder(), "run/queue")]);
  const bound = await approved("sh deploy.sh");
  const turn = await bench.startTurn();
  expect((await bench.run(turn, "rm -r run", { bound })).text).not.toContain("None of this call's changes");
  expect((await bench.run(turn, "ls")).text).toBe("deploy.sh");
});
