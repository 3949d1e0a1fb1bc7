/** The card of a draft, from its changes and from the records of its turns. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ShownChanges } from "../../../src/ports/card.ts";
import type { CallRecord, StepRecord, TurnRecord } from "../../../src/ports/turn.ts";
import { type Bench, createBench, given } from "./draft-bench.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench.close());

function callRecord(command: string, text: string, status: "ok" | "failed" | "denied" = "ok"): CallRecord {
  const id = `c-${command}`;
  const call = { id, name: "shell_exec", input: { command } };
  const result = { callId: id, name: "shell_exec", status, text, attempts: 1, durationMs: 1, files: [] };
  return { raw: { id, name: "shell_exec", inputJson: JSON.stringify(call.input) }, call, result };
}

async function journal(turn: TurnRecord, ...calls: CallRecord[]): Promise<void> {
  const step = { text: "", calls, stop: "end" } as unknown as StepRecord;
  await bench.ledger.transition("turn", turn.id, ["running"], "running", (body) => ({ ...body, steps: [step] }));
}

async function shownAfter(setup: string, command: string, ...calls: CallRecord[]): Promise<ShownChanges> {
  const first = await bench.startTurn(given);
  await bench.run(first, setup);
  await bench.end(first);
  await bench.click("approve");
  const turn = await bench.startTurn(given);
  await bench.run(turn, command);
  await journal(turn, ...calls);
  await bench.end(turn);
  const changes = bench.shown.at(-1)?.items[0]?.changes;
  if (changes === undefined) throw new Error("no card is shown");
  return changes;
}

test("deletions come first, then changes, then additions, each with what happened to it", async () => {
  const { files, title } = await shownAfter(
    "printf 'a\\nb\\n' > text.txt; head -c 3000 /dev/zero > data.bin; echo x > gone.txt; echo x > run.sh; mkdir old; echo 1 > old/1; echo 2 > old/2",
    "printf 'a\\nc\\nd\\n' > text.txt; head -c 5000 /dev/zero > data.bin; rm gone.txt; chmod +x run.sh; rm -r old; ln -s text.txt link; mkdir new; echo n > new/n.txt",
  );
  expect(title).toMatch(/^website: \d+ files deleted, 3 changed, \d+ added$/);
  expect(files.map(({ action }) => action)).toEqual(
    files.map(({ action }) => action).toSorted((one, other) => rank(one) - rank(other)),
  );
  const details = new Map(files.map(({ path, action, detail }) => [path, `${action} ${detail}`]));
  expect(Object.fromEntries(details)).toMatchObject({
    "gone.txt": expect.stringContaining("deleted 2 B"),
    "old/": "deleted 2 files",
    "text.txt": "changed +2 −1",
    "data.bin": expect.stringMatching(/^changed unknown data, 2\.9 KiB → 4\.9 KiB/),
    "run.sh": expect.stringContaining("executable"),
    link: "added link to text.txt",
  });
});

test("files that can run by themselves outside the sandbox stand out, however many others there are", async () => {
  const { files } = await shownAfter(
    "mkdir -p .git/hooks; echo x > .envrc; echo x > gone.txt",
    "seq 40 | xargs -I@ sh -c 'echo x > @.txt'; echo id > .git/hooks/post-checkout; echo s > .git/hooks/zz.sample; echo y > .envrc; mkdir -p .github/workflows; echo z > .github/workflows/ci.yml; rm gone.txt",
  );
  expect(files.slice(0, 5).map(({ path, warning }) => [path, warning])).toEqual([
    [".envrc", "can run by itself outside the sandbox"],
    [".git/hooks/post-checkout", "can run by itself outside the sandbox"],
    [".github/", "has files that can run by themselves outside the sandbox"],
    ["gone.txt", undefined],
    [".git/hooks/zz.sample", undefined],
  ]);
});

test("warned files that are too many for the card are counted, and come before any number of deletions", async () => {
  const { files, moreFiles, moreWarned } = await shownAfter(
    "mkdir e; for i in $(seq 40); do echo x > d$i.txt; mkdir e/$i; done; seq 90 > kept.txt",
    "rm d*.txt; rmdir e/*; for i in $(seq 28); do echo x > .envrc$i; done",
  );
  expect(files.map(({ warning }) => warning)).toEqual(Array(25).fill("can run by itself outside the sandbox"));
  expect([moreFiles, moreWarned]).toEqual([83, 3]);
});

test("links and files that lead git to another place for its hooks stand out as well", async () => {
  const { files } = await shownAfter(
    "mkdir -p evil sub .git/objects; echo x > evil/post-checkout",
    "ln -s ../evil .git/hooks; echo 'gitdir: ../evil' > sub/.git; ln -s evil .vscode; echo id > .git/config.worktree; echo o > .git/objects/o",
  );
  const warned = files.filter(({ warning }) => warning !== undefined).map(({ path }) => path);
  expect(warned.toSorted()).toEqual([".git/config.worktree", ".git/hooks", ".vscode", "sub/.git"]);
});

const rank = (action: "deleted" | "changed" | "added") => ["deleted", "changed", "added"].indexOf(action);

test("the commands that ran are there with how they ended, and the end of the last output", async () => {
  const { commands, lastOutput } = await shownAfter(
    "echo x > a.txt",
    "echo y > a.txt",
    callRecord("npm run build", "built\n\n(exit code 0)"),
    callRecord("rm -rf /", "Blocked", "denied"),
    callRecord("npm test", "1 failed\n\n(exit code 1)", "failed"),
    callRecord("sleep 1000", "(stopped after 115 s, with everything, no output)", "failed"),
    callRecord(`echo ${"x".repeat(1_000)}`, `${"y".repeat(1_000)}end\n\n(exit code 0)`),
  );
  expect(commands.map(({ text, outcome }) => [text.slice(0, 14), outcome.slice(0, 20)])).toEqual([
    ["npm run build", "exit code 0"],
    ["npm test", "exit code 1"],
    ["sleep 1000", "stopped after 115 s,"],
    ["echo xxxxxxxxx", "exit code 0"],
  ]);
  expect(commands.at(-1)?.text).toMatch(/^echo x{294}… \(706 more characters\)$/);
  expect(lastOutput).toMatch(/^…y+end$/);
});

test("a long diff is behind Show diff, whole, with every command as it ran", async () => {
  const long = `: ${"y".repeat(400)}\n: second line`;
  const { diff } = await shownAfter("echo x > a.txt", "seq 1 30000 > a.txt", callRecord(long, "(exit code 0)"));
  expect(diff).toBeUndefined();
  expect(bench.shown.at(-1)?.items[0]?.choices).toContain("diff");
  const { file } = await bench.click("diff");
  expect(file?.text).toContain("-x\n+1\n+2\n");
  expect(file?.text).toMatch(/\+29999\n\+30000\n$/);
  expect(file?.text).toContain(`$ ${long.replace("\n", "\n  | ")} — exit code 0\n`);
});

test("names that are no text, or would hide something, can be read and chosen one by one", async () => {
  const { files } = await shownAfter(
    "echo x > a.txt",
    "echo 1 > $'new\\nline'; echo 2 > $'bad\\xff'; echo 3 > $'rtl\\u202e'; echo 4 > 'a.txt '; echo 5 > $'a\\u00a0b\\u3164'",
  );
  expect(files).toHaveLength(5);
  for (const { path } of files) expect(path).toMatch(/^[\x21-\x7e]+$/);
  expect(files.map(({ path }) => path)).toContain("a.txt<U+0020>");
  await bench.click("part", undefined, { parts: [0] });
  const { text } = await bench.run(await bench.startTurn(given), "ls | wc -l; ls -b");
  expect(text.split("\n").length).toBe(3);
});
