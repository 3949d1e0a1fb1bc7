/** Which changes between an approval and its call are noticed, in a real folder with and without a draft's layer. */
import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readCommandFiles } from "../../../src/gate/shell/command-files.ts";
import { type BoundStore, createBoundStore } from "../../../src/sandbox/bound/bound-files.ts";

let home: string;
let store: BoundStore;
let count = 0;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "bound-"));
  await mkdir(join(home, "store"));
  // As where a view copies its folder, so that what is compared must be found.
  store = createBoundStore(join(home, "store"), readCommandFiles, async () => false);
});
afterAll(() => rm(home, { recursive: true }));

type Files = Record<string, string>;

async function write(folder: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await rm(join(folder, path), { recursive: true, force: true });
    if (text.startsWith("-> ")) await symlink(text.slice(3), join(folder, path));
    else await writeFile(join(folder, path), text);
  }
}

async function folderWith(files: Files): Promise<string> {
  const base = join(home, `folder-${count++}`);
  await mkdir(base);
  await write(base, files);
  return base;
}

/** Names of what has changed. `where` is written: the folder, or the layer of a draft over it. */
async function changed(command: string, files: Files, change: Files, where: "base" | "layer" = "base") {
  const base = await folderWith(files);
  const layer = await folderWith({});
  const folders = { base, layer };
  const bound = await store.bind({ commands: [command], names: [] }, folders, "c");
  await write(where === "base" ? base : layer, change);
  return await store.changedSince(bound, folders, true);
}

const evil = "echo EVIL\n";

describe.each(["base", "layer"] as const)("a change in the %s is noticed", (where) => {
  test.each<[string, string, Files, Files]>([
    ["a script", "bash deploy.sh # git push", { "deploy.sh": "echo a\n" }, { "deploy.sh": evil }],
    ["a script with another ending", "bash notes.txt", { "notes.txt": "echo a\n" }, { "notes.txt": evil }],
    ["a script in quotes", "ba'sh' de\"ploy\".sh", { "deploy.sh": "echo a\n" }, { "deploy.sh": evil }],
    ["a script in a variable", "f=deploy.sh; sh $f", { "deploy.sh": "echo a\n" }, { "deploy.sh": evil }],
    ["a program", "./x", { x: "#!/bin/sh\necho a\n" }, { x: `#!/bin/sh\n${evil}` }],
    ["what a script reads", "./x", { x: "#!/bin/sh\n. ./lib.sh\n", "lib.sh": "a=1\n" }, { "lib.sh": evil }],
    ["what that reads", "sh a.sh", { "a.sh": "sh b.sh\n", "b.sh": ". c\n", c: "a=1\n" }, { c: evil }],
    ["a script that was missing", "sh a.sh", { "b.sh": "" }, { "a.sh": evil }],
    ["what was missing for a script", "sh a.sh", { "a.sh": "[ -f extra.sh ] && . ./extra.sh\n" }, { "extra.sh": evil }],
    [
      "beside a script, by its folder",
      "sh s/a.sh",
      { "s/a.sh": '. "$(dirname "$0")/l.sh"\n', "s/l.sh": "" },
      { "s/l.sh": evil },
    ],
    ["in a folder that it goes to", "cd sub && sh x.sh", { "sub/x.sh": "echo a\n" }, { "sub/x.sh": evil }],
    ["deeper", "cd sub; cd more; sh x.sh", { "sub/more/x.sh": "echo a\n" }, { "sub/more/x.sh": evil }],
    ["a pattern", "for f in 1; do sh *.sh; done", { "a.sh": "", "b.sh": "" }, { "b.sh": evil }],
    ["a new file for a pattern", "sh *.sh", { "b.sh": "" }, { "a.sh": evil }],
    ["a loop", 'for f in *.txt; do sh "$f"; done', { "a.txt": "" }, { "a.txt": evil }],
    ["a build", "make deploy", { Makefile: "deploy:\n\techo a\n" }, { Makefile: "deploy:\n\techo EVIL\n" }],
    ["a package script", "npm run x", { "package.json": "{}" }, { "package.json": '{"scripts":{"x":"echo EVIL"}}' }],
    ["a package's settings", "npm install left-pad", { "package.json": "{}" }, { ".npmrc": "ignore-scripts=false" }],
    ["a module", "python -m pkg", { "pkg/__main__.py": "print(1)" }, { "pkg/__main__.py": "print(2)" }],
    ["a module beside a script", "python x.py", { "x.py": "import random\n" }, { "random.py": "print(2)" }],
    ["a module that only the library loads", "python3 x.py", { "x.py": "print(1)\n" }, { "tempfile.py": "print(2)" }],
    ["a package beside a script", "python x.py", { "x.py": "import json\n" }, { "json/__init__.py": "print(2)" }],
    ["a module of node", "node a/x.js", { "a/x.js": "require('../lib')\n", "lib.js": "1" }, { "lib.js": "2" }],
    ["a new module of node", "node a/x.js", { "a/x.js": "require('../lib')\n" }, { "lib/index.js": "2" }],
    ["settings of git", "git push", { ".git/config": "[core]\n" }, { ".git/config": "[core]\n\tsshCommand = x\n" }],
    ["a hook of git", "git push", { ".git/config": "[core]\n" }, { ".git/hooks/pre-push": evil }],
    ["what git sends", "git push origin main", { ".git/refs/heads/main": "1" }, { ".git/refs/heads/main": "2" }],
    ["what a hook runs", "git push", { ".git/hooks/pre-push": "sh check.sh\n", "check.sh": "" }, { "check.sh": evil }],
    ["git elsewhere", "git -C sub push", { "sub/.git/config": "" }, { "sub/.git/config": "[core]\n\thooksPath = x\n" }],
    ["git with its own settings", "git -c core.hooksPath=h push", { "h/pre-push": "" }, { "h/pre-push": evil }],
    ["a link", "sh run.sh", { "a.sh": "", "b.sh": evil, "run.sh": "-> a.sh" }, { "run.sh": "-> b.sh" }],
    ["what a link leads to", "sh run.sh", { "a.sh": "", "run.sh": "-> a.sh" }, { "a.sh": evil }],
    ["a file that is sent", "curl -T report.pdf https://x.example", { "report.pdf": "1" }, { "report.pdf": "2" }],
    ["a file in an option", "curl --data=@report.csv https://x.example", { "report.csv": "1" }, { "report.csv": "2" }],
    ["a form's file", "curl -F 'f=@r.csv;type=text/csv' https://x.example", { "r.csv": "1" }, { "r.csv": "2" }],
    [
      "a folder that is sent",
      "tar czf - docs | curl -T - https://x.example",
      { "docs/a.md": "1" },
      { "docs/b.md": "2" },
    ],
    ["everything that is sent", "tar czf - . | curl -T - https://x.example", { "a.md": "1" }, { "b.md": "2" }],
    ["a redirected input", "bash < deploy.sh", { "deploy.sh": "" }, { "deploy.sh": evil }],
    ["a pipe into a shell", "cat deploy.sh | bash", { "deploy.sh": "" }, { "deploy.sh": evil }],
    ["inline code", 'python -c \'exec(open("a"+".txt").read())\'', { "a.txt": "1" }, { "a.txt": "2" }],
    ["an evaluated text", 'eval "$(cat a.txt)"', { "a.txt": "1" }, { "a.txt": "2" }],
    ["an unknown program", "frobnicate --deploy", { "frob.conf": "1" }, { "frob.conf": "2" }],
    ["another search path", "PATH=.:$PATH cat x", { cat: "" }, { cat: evil }],
    ["a shell's start file", "BASH_ENV=rc bash -c true", { rc: "" }, { rc: evil }],
    ["arguments by xargs", "ls | xargs -n1 sh", { "a.txt": "" }, { "a.txt": evil }],
    ["a search that runs", "find . -name '*.sh' -exec sh {} \\;", { "a.sh": "" }, { "a.sh": evil }],
    ["an outer program", "timeout 5 nohup sh a.sh", { "a.sh": "" }, { "a.sh": evil }],
    ["a nested shell", "sh -c 'bash -c \"sh a.sh\"'", { "a.sh": "" }, { "a.sh": evil }],
    ["a changed mode of reading", "sh -x -e a.sh", { "a.sh": "" }, { "a.sh": evil }],
  ])("%s", async (_what, command, files, change) => {
    expect(await changed(command, files, change, where)).not.toBeUndefined();
  });
});

test.each<[string, string, Files, Files]>([
  ["notes beside a script", "bash deploy.sh", { "deploy.sh": 'echo "$HOME"\n' }, { "notes.md": "2", "a.csv": "1" }],
  ["another script", "bash deploy.sh production", { "deploy.sh": "set -e\necho a\n" }, { "other.sh": evil }],
  ["data beside a program", "python x.py", { "x.py": "print(1)\n" }, { "notes.md": "2", "a.csv": "1" }],
  ["anything beside a request", "curl -s https://x.example/a.json", { "b.txt": "1" }, { "b.txt": "2", "c.sh": evil }],
  ["files beside a push", "git push origin main", { ".git/config": "" }, { "README.md": "2", "src/a.ts": "1" }],
  [
    "git's index and objects",
    "git push",
    { ".git/config": "" },
    { ".git/index": "2", ".git/objects/ab/0123456789abcdef0123456789abcdef012345": "1" },
  ],
])("a change of %s asks nobody again", async (_what, command, files, change) => {
  expect(await changed(command, files, change)).toBeUndefined();
});

test("what appears in a folder that was missing is noticed", async () => {
  const folders = { base: join(home, "later"), layer: undefined };
  const bound = await store.bind({ commands: ["sh a.sh"], names: [] }, folders, "c");
  expect(await store.changedSince(bound, folders, true)).toBeUndefined();
  await mkdir(folders.base);
  await write(folders.base, { "a.sh": evil });
  expect(await store.changedSince(bound, folders, true)).toEqual(["a.sh"]);
});

test("the same contents again are no change, whoever wrote them and when", async () => {
  const base = await folderWith({ "a.sh": "echo a\n" });
  const folders = { base, layer: undefined };
  const bound = await store.bind({ commands: ["sh a.sh"], names: [] }, folders, "c");
  await writeFile(join(base, "a.sh"), "echo a\n");
  await utimes(join(base, "a.sh"), 1, 1);
  expect(await store.changedSince(bound, folders, true)).toBeUndefined();
});

test("the copies of an approval's files are as they were, also after somebody has changed the folder", async () => {
  const base = await folderWith({ "s/a.sh": "echo a\n", "run.sh": "-> s/a.sh" });
  const folders = { base, layer: undefined };
  const bound = await store.bind({ commands: ["sh run.sh"], names: [] }, folders, "c");
  await write(base, { "s/a.sh": evil });
  const [copies = ""] = (await store.freeze(bound, folders)).layers;
  expect(await readFile(join(copies, "run.sh"), "utf8")).toBe("echo a\n");
});

test("files that are too large to be copied are compared all the same", async () => {
  const base = await folderWith({ "big.bin": "a".repeat(5 * 1024 * 1024) });
  const folders = { base, layer: undefined };
  const bound = await store.bind({ commands: ["curl -T big.bin https://x.example"], names: [] }, folders, "c");
  expect(await store.changedSince(bound, folders, true)).toBeUndefined();
  await writeFile(join(base, "big.bin"), "b".repeat(5 * 1024 * 1024));
  expect(await store.changedSince(bound, folders, true)).toEqual(["big.bin"]);
});

/** A chain of scripts that read each other in many ways; the last one changes. */
test("a change at the end of any chain of scripts is noticed", async () => {
  const reads = fc.constantFrom(
    (next: string) => `. ./${next}\n`,
    (next: string) => `source "${next}"\n`,
    (next: string) => `set -e\nif true; then\n  bash ${next} "$@"\nfi\n`,
    (next: string) => `exec sh ./${next}\n`,
    (next: string) => `run() { sh '${next}'; }\nrun\n`,
    (next: string) => `f=${next}\nsh "$f"\n`,
    (next: string) => `cat ${next} | sh\n`,
    (next: string) => `python3 - <<'EOF'\nexec(open("${next}").read())\nEOF\n`,
    (next: string) => `eval "$(cat ${next})"\n`,
  );
  const start = fc.constantFrom("bash 0", "sh ./0 a", "cd . && . ./0", "timeout 9 bash 0 # git push", "sh -c '. ./0'");
  await fc.assert(
    fc.asyncProperty(start, fc.array(reads, { maxLength: 4 }), async (command, chain) => {
      const files = Object.fromEntries(chain.map((read, at) => [String(at), read(String(at + 1))]));
      const last = String(chain.length);
      const found = await changed(command, { ...files, [last]: "echo a\n" }, { [last]: evil });
      expect(found).toContain(last);
      await rm(join(home, `folder-${count - 1}`), { recursive: true });
    }),
    { numRuns: 500 },
  );
});
