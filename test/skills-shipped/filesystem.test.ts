import { execFileSync } from "node:child_process";
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import plugin from "../../skills/filesystem/plugin.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";
import { isOk, makeDraftPlace, makePlace, type TestPlace, textOf } from "./place.ts";

let place: TestPlace;
beforeEach(async () => {
  place = await makePlace();
});
afterEach(() => place.remove());

async function call(tool: string, input: JsonObject, where = place) {
  const result = await plugin.execute(tool, input, where.context("filesystem"));
  return { isOk: isOk(result), text: textOf(result) };
}
const fileIn = (...parts: string[]) => join(place.workingFolder, ...parts);
const contentOf = (...parts: string[]) => readFile(fileIn(...parts), "utf8");

/** Everything outside of the working folder, with its content: what no call may change. */
async function outside(where = place): Promise<string[]> {
  const paths = (await readdir(where.root, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(`${where.workingFolder}/`));
  return Promise.all(paths.sort().map(async (path) => `${path}: ${await readFile(path, "utf8")}`));
}

describe("read_file", () => {
  test("gives a small file as it is", async () => {
    await writeFile(fileIn("a.txt"), "one\ntwo\n");
    expect(await call("read_file", { path: "a.txt" })).toEqual({ isOk: true, text: "one\ntwo" });
  });

  test("takes an absolute path inside the working folder", async () => {
    await writeFile(fileIn("a.txt"), "one");
    expect((await call("read_file", { path: fileIn("a.txt") })).text).toBe("one");
  });

  test("gives the lines asked for and says how to go on", async () => {
    await writeFile(fileIn("a.txt"), Array.from({ length: 10 }, (_, index) => `line ${index + 1}`).join("\n"));
    expect((await call("read_file", { path: "a.txt", offset: 3, limit: 2 })).text).toBe(
      "(a.txt, lines 3 to 4 of 10; continue with offset 5)\nline 3\nline 4",
    );
    expect((await call("read_file", { path: "a.txt", offset: 9 })).text).toBe(
      "(a.txt, lines 9 to 10 of 10)\nline 9\nline 10",
    );
    expect((await call("read_file", { path: "a.txt", offset: 11 })).text).toContain("has 10 lines");
  });

  test("gives a long file in parts that fit", async () => {
    await writeFile(fileIn("long.txt"), `${"x".repeat(99)}\n`.repeat(5_000));
    const { text } = await call("read_file", { path: "long.txt" });
    expect(text).toMatch(/^\(long\.txt, lines 1 to 2000 of 5000; continue with offset 2001\)/);
    await writeFile(fileIn("line.txt"), "y".repeat(1_000_000));
    expect((await call("read_file", { path: "line.txt" })).text.length).toBeLessThan(201_000);
  });

  test("says that a file is empty", async () => {
    await writeFile(fileIn("a.txt"), "");
    expect((await call("read_file", { path: "a.txt" })).text).toBe("(a.txt is empty)");
  });

  test("refuses what is binary, too large, a folder, a pipe or missing, and says what to do", async () => {
    await writeFile(fileIn("a.bin"), Buffer.from([1, 2, 0, 3]));
    await mkdir(fileIn("folder"));
    execFileSync("mkfifo", [fileIn("pipe")]);
    const huge = await open(fileIn("huge"), "w");
    await huge.write("line\n".repeat(5_000));
    await huge.truncate(5 * 1024 ** 3);
    await huge.close();
    expect((await call("read_file", { path: "a.bin" })).text).toContain("not a text file");
    expect((await call("read_file", { path: "huge" })).text).toMatch(/5\.0 GiB.*use shell_exec/);
    expect((await call("read_file", { path: "folder" })).text).toMatch(/folder.*list_folder/);
    expect((await call("read_file", { path: "pipe" })).text).toContain("no ordinary file");
    expect((await call("read_file", { path: "missing.txt" })).text).toMatch(
      /"missing\.txt" does not exist.*list_folder/,
    );
    expect((await call("read_file", { path: "a.bin/x" })).text).toContain("a part of it is a file");
  });
});

describe("write_file", () => {
  test("creates a file with the folders on its way, and replaces it whole", async () => {
    expect((await call("write_file", { path: "a/b/c.txt", content: "one" })).text).toBe("Created a/b/c.txt (3 B).");
    expect((await call("write_file", { path: "a/b/c.txt", content: "" })).text).toBe(
      "Replaced a/b/c.txt (0 B, before 3 B).",
    );
    expect(await contentOf("a/b/c.txt")).toBe("");
  });

  test("keeps the permissions of what it replaces and leaves nothing beside it", async () => {
    await writeFile(fileIn("run.sh"), "old");
    await chmod(fileIn("run.sh"), 0o755);
    await call("write_file", { path: "run.sh", content: "new" });
    expect((await stat(fileIn("run.sh"))).mode & 0o777).toBe(0o755);
    expect(await readdir(place.workingFolder)).toEqual(["run.sh"]);
  });

  test("never shows a half-written file to a reader", async () => {
    const texts = ["a".repeat(300_000), "b".repeat(300_000)];
    await call("write_file", { path: "f", content: texts[0] ?? "" });
    const writes = Promise.all(
      Array.from({ length: 20 }, (_, index) => call("write_file", { path: "f", content: texts[index % 2] ?? "" })),
    );
    for (let count = 0; count < 50; count += 1) expect(texts).toContain(await contentOf("f"));
    expect((await writes).every((one) => one.isOk)).toBe(true);
  });

  test("refuses more than fits, a folder, and the working folder itself", async () => {
    await mkdir(fileIn("folder"));
    const content = "x".repeat(9 * 1024 * 1024);
    expect((await call("write_file", { path: "big", content })).text).toContain("the limit is 8.0 MiB");
    expect((await call("write_file", { path: "folder", content: "x" })).text).toContain("is a folder");
    expect((await call("write_file", { path: ".", content: "x" })).text).toContain("is the working folder");
    expect(await readdir(place.workingFolder)).toEqual(["folder"]);
  });
});

describe("edit_file", () => {
  beforeEach(() => writeFile(fileIn("a.txt"), "one\ntwo\none\n"));

  test("replaces a passage that is there once, $ and all", async () => {
    expect((await call("edit_file", { path: "a.txt", old_text: "two", new_text: "$& $1" })).text).toBe(
      "Edited a.txt at line 2.",
    );
    expect(await contentOf("a.txt")).toBe("one\n$& $1\none\n");
  });

  test("keeps every byte that it does not replace, or changes nothing", async () => {
    await writeFile(fileIn("mark.txt"), "\ufeffone\ntwo\n");
    await call("edit_file", { path: "mark.txt", old_text: "two", new_text: "three" });
    expect(await contentOf("mark.txt")).toBe("\ufeffone\nthree\n");
    const latin = Buffer.from("caf\xe9 one", "latin1");
    await writeFile(fileIn("latin.txt"), latin);
    const edit = await call("edit_file", { path: "latin.txt", old_text: "one", new_text: "two" });
    expect(edit.text).toContain("is not in UTF-8");
    expect(await readFile(fileIn("latin.txt"))).toEqual(latin);
  });

  test("says that tags were shown escaped, and writes only what the call has", async () => {
    await writeFile(fileIn("chat.txt"), "<|im_start|>user\n");
    const edit = (old_text: string) => call("edit_file", { path: "chat.txt", old_text, new_text: "<|im_start|>agent" });
    expect((await edit("&lt;|im_start|>user")).text).toContain('Write "<" where you were shown "&lt;"');
    expect(await contentOf("chat.txt")).toBe("<|im_start|>user\n");
    expect((await edit("<|im_start|>user")).text).toBe("Edited chat.txt at line 1.");
  });

  test("changes nothing when the passage is missing, there twice, empty or the same", async () => {
    const edit = (old_text: string, new_text: string) => call("edit_file", { path: "a.txt", old_text, new_text });
    expect((await edit("three", "x")).text).toMatch(
      /does not occur in it\. Read the file and copy the passage exactly/,
    );
    await writeFile(fileIn("app.conf"), "name = ledger\ntimeout = 30\n");
    const guessed = await call("edit_file", { path: "app.conf", old_text: "timeout=100", new_text: "timeout=95" });
    expect(guessed.text).toContain(
      "Most like it is line 2. Read the file and copy the passage exactly, with its spaces",
    );
    expect(guessed.text).not.toContain("30");
    expect((await edit("one", "x")).text).toMatch(/occurs 2 times.*unique/);
    expect((await edit("", "x")).text).toContain("is empty");
    expect((await edit("two", "two")).text).toContain("nothing would change");
    expect(await contentOf("a.txt")).toBe("one\ntwo\none\n");
  });

  test("replaces every occurrence when asked to", async () => {
    expect((await call("edit_file", { path: "a.txt", old_text: "one", new_text: "1", all: true })).text).toBe(
      "Edited a.txt in 2 places.",
    );
    expect(await contentOf("a.txt")).toBe("1\ntwo\n1\n");
  });

  test("finds passages of several lines in files with Windows line ends, and keeps those", async () => {
    await writeFile(fileIn("w.txt"), "one\r\ntwo\r\nthree\r\n");
    await call("edit_file", { path: "w.txt", old_text: "one\ntwo", new_text: "1\n2" });
    expect(await contentOf("w.txt")).toBe("1\r\n2\r\nthree\r\n");
  });

  test("does not make files", async () => {
    expect((await call("edit_file", { path: "new/x", old_text: "a", new_text: "b" })).text).toContain("does not exist");
    expect(await readdir(place.workingFolder)).toEqual(["a.txt"]);
  });
});

describe("list_folder", () => {
  beforeEach(async () => {
    await mkdir(fileIn("src/deep"), { recursive: true });
    await mkdir(fileIn("node_modules/x"), { recursive: true });
    await writeFile(fileIn("a.txt"), "hello");
    await writeFile(fileIn("src/deep/b.ts"), "x");
    await symlink("/etc", fileIn("link"));
  });

  test("shows one level, or several without what nobody reads through", async () => {
    expect((await call("list_folder", {})).text).toBe("a.txt  5 B\nlink -> /etc\nnode_modules/\nsrc/");
    expect((await call("list_folder", { depth: 3 })).text).toBe(
      "a.txt  5 B\nlink -> /etc\nsrc/\nsrc/deep/\nsrc/deep/b.ts  1 B",
    );
    expect((await call("list_folder", { path: "src" })).text).toBe("deep/");
  });

  test("says what is empty, missing or a file, and where it stops", async () => {
    await mkdir(fileIn("empty"));
    expect((await call("list_folder", { path: "empty" })).text).toBe("(empty is empty)");
    expect((await call("list_folder", { path: "missing" })).text).toContain("does not exist");
    expect((await call("list_folder", { path: "a.txt" })).text).toContain("read_file");
    await mkdir(fileIn("many"));
    await Promise.all(Array.from({ length: 1_100 }, (_, index) => writeFile(fileIn("many", `${index}`), "")));
    const { text } = await call("list_folder", { path: "many" });
    expect(text.split("\n")).toHaveLength(1_001);
    expect(text).toContain("more than 1000 entries");
  });
});

describe("search_files", () => {
  beforeEach(async () => {
    await mkdir(fileIn("src/deep"), { recursive: true });
    await mkdir(fileIn(".git"), { recursive: true });
    await writeFile(fileIn("a.ts"), "const one = 1;\nconst Two = 2;\n");
    await writeFile(fileIn("src/deep/b.ts"), "one.two();\n");
    await writeFile(fileIn("src/c.md"), "one\n");
    await writeFile(fileIn(".git/x"), "one\n");
    await writeFile(fileIn("d.bin"), Buffer.from("one\0"));
  });

  test("finds files by name at every depth, or by path", async () => {
    expect((await call("search_files", { glob: "*.ts" })).text).toBe("a.ts\nsrc/deep/b.ts");
    expect((await call("search_files", { glob: "src/*.md" })).text).toBe("src/c.md");
    expect((await call("search_files", { glob: "*.ts", path: "src" })).text).toBe("src/deep/b.ts");
  });

  test("finds lines by text, by expression, and without regard to case", async () => {
    expect((await call("search_files", { text: "one" })).text).toBe(
      "a.ts:1: const one = 1;\nsrc/c.md:1: one\nsrc/deep/b.ts:1: one.two();",
    );
    expect((await call("search_files", { text: "one.two" })).text).toBe("src/deep/b.ts:1: one.two();");
    expect((await call("search_files", { text: "^const \\w+ = 2", regex: true })).text).toBe("a.ts:2: const Two = 2;");
    expect((await call("search_files", { text: "TWO", ignore_case: true, glob: "a.*" })).text).toBe(
      "a.ts:2: const Two = 2;",
    );
  });

  test("says when there is nothing, too much, or no expression", async () => {
    expect((await call("search_files", { text: "nowhere" })).text).toBe("Nothing found (4 files searched).");
    expect((await call("search_files", { text: "one", glob: "*.py" })).text).toBe(
      "Nothing found: no file's name matches *.py. Without glob, all files are searched.",
    );
    expect((await call("search_files", { text: "o", limit: 1 })).text).toMatch(/\n\(more than 1 results/);
    expect((await call("search_files", { text: "(", regex: true })).text).toMatch(
      /not a valid regular expression.*correct it/,
    );
  });

  test("is not held up by an expression that is slow elsewhere", async () => {
    await writeFile(fileIn("slow.txt"), `${"a".repeat(50_000)}!`);
    expect((await call("search_files", { text: "^(a+)+$", regex: true })).text).toContain("Nothing found");
  });

  test("stops when the turn does", async () => {
    const context = place.context("filesystem", { signal: AbortSignal.abort() });
    await expect(plugin.execute("search_files", { text: "one" }, context)).rejects.toThrow(/abort/i);
  });
});

describe("attacks", () => {
  beforeEach(async () => {
    await mkdir(join(place.workspace, "files", "dm-bob"));
    await mkdir(join(place.workspace, "files", "dm-ann-too"));
    await writeFile(join(place.workspace, "files", "dm-bob", "secret.txt"), "canary");
    await writeFile(join(place.workspace, "files", "dm-ann-too", "secret.txt"), "canary");
    await symlink(join(place.workspace, "files", "dm-bob"), fileIn("folder-link"));
    await symlink(join(place.workspace, "files", "dm-bob", "secret.txt"), fileIn("file-link"));
    await symlink(join(place.workspace, "files", "dm-bob", "made.txt"), fileIn("dangling-link"));
    await symlink("loop", fileIn("loop"));
    await symlink("/proc/self", fileIn("proc"));
    await mkdir(fileIn("sub"));
  });

  /** Whatever breaks, what a test writes to is below its own folder; the machine's own files are only read. */
  const secret = (change: (path: string) => string) => () =>
    change(join(place.workspace, "files", "dm-bob", "secret.txt"));
  const ways: [string, string | (() => string)][] = [
    ["above", "../dm-bob/secret.txt"],
    ["down and above", "sub/../../dm-bob/secret.txt"],
    ["a folder whose name begins the same", "../dm-ann-too/secret.txt"],
    ["dots", "./.././dm-bob/secret.txt"],
    ["a link to a folder", "folder-link/secret.txt"],
    ["a link and above", "folder-link/../dm-bob/secret.txt"],
    ["a new file behind a link", "folder-link/new/deep.txt"],
    ["a link to a file", "file-link"],
    ["a link to a file, as a folder", "file-link/"],
    ["a link to nothing yet", "dangling-link"],
    ["a link to itself", "loop"],
    ["below a link to itself", "loop/x"],
    ["an absolute path", secret((path) => path)],
    ["an absolute path with two slashes", secret((path) => `/${path}`)],
    ["the root as a process sees it", secret((path) => `proc/root${path}`)],
    ["what a process works in", secret((path) => `proc/cwd/../../../../../../../../..${path}`)],
    ["NUL in front of an ending", secret((path) => `${path}\0.md`)],
    ["NUL", "a\0b"],
    ["the folder above", ".."],
    ["the folder above, as a folder", "../"],
    ["the root", "/"],
    ["nothing", ""],
    ["a long name", "x".repeat(300)],
    ["a long way", `${"long/".repeat(2_000)}x`],
  ];

  test.each(ways)("%s: no tool reads, changes or shows anything outside", async (_way, given) => {
    const path = typeof given === "string" ? given : given();
    const before = await outside();
    for (const [tool, input] of [
      ["read_file", { path }],
      ["write_file", { path, content: "changed" }],
      ["edit_file", { path, old_text: "canary", new_text: "changed" }],
      ["list_folder", { path }],
      ["search_files", { path, text: "canary" }],
    ] as const) {
      const { text } = await call(tool, input);
      expect(text).not.toMatch(/canary/);
      expect(text.length).toBeLessThan(2_000);
    }
    expect(await outside()).toEqual(before);
  });

  test.each(["/etc/passwd", "//etc/passwd", "/proc/self/environ", "proc/environ", "proc/root/etc/passwd"])(
    "%s of the machine is not read",
    async (path) => {
      const { isOk: ok, text } = await call("read_file", { path });
      expect(ok).toBe(false);
      expect(text).toContain("outside of the working folder");
    },
  );

  test("a search does not follow links", async () => {
    expect((await call("search_files", { text: "canary" })).text).toContain("Nothing found");
    expect((await call("list_folder", { depth: 6 })).text).not.toContain("folder-link/");
  });

  test("a link inside the working folder may be read through, and is not written through", async () => {
    await writeFile(fileIn("sub/real.txt"), "here");
    await symlink("sub", fileIn("inner"));
    await symlink("sub/real.txt", fileIn("inner.txt"));
    expect((await call("read_file", { path: "inner.txt" })).text).toBe("here");
    expect((await call("read_file", { path: "inner/real.txt" })).text).toBe("here");
    expect((await call("write_file", { path: "inner.txt", content: "x" })).text).toContain("is a link");
    expect((await call("write_file", { path: "inner/new.txt", content: "x" })).isOk).toBe(true);
    expect(await contentOf("sub/new.txt")).toBe("x");
  });

  test("a link that is led elsewhere all the time lets nothing out", async () => {
    const targets = [fileIn("sub"), join(place.workspace, "files", "dm-bob")];
    await writeFile(fileIn("sub", "secret.txt"), "own");
    const before = await outside();
    // Before the first write, which would otherwise make a folder of that name.
    await symlink(fileIn("sub"), fileIn("swapped"));
    let isOver = false;
    const leading = (async () => {
      for (let count = 0; !isOver; count += 1) {
        await symlink(targets[count % 2] ?? "", fileIn("next"));
        await rename(fileIn("next"), fileIn("swapped"));
      }
    })();
    let inside = 0;
    for (let count = 0; count < 400; count += 1) {
      const { isOk: ok } = await call("write_file", { path: "swapped/secret.txt", content: "changed" });
      inside += ok ? 1 : 0;
      expect((await call("read_file", { path: "swapped/secret.txt" })).text).not.toContain("canary");
    }
    isOver = true;
    await leading;
    expect(inside).toBeGreaterThan(0);
    expect(await outside()).toEqual(before);
  });
});

describe("any path at all", () => {
  let shared: TestPlace;
  beforeAll(async () => {
    shared = await makePlace();
    await mkdir(join(shared.workspace, "secret"));
    await writeFile(join(shared.workspace, "secret", "file"), "canary");
    await symlink(join(shared.workspace, "secret"), join(shared.workingFolder, "out"));
    await symlink("..", join(shared.workingFolder, "up"));
  });
  afterAll(() => shared.remove());

  const part = fc.oneof(
    fc.constantFrom(
      "..",
      ".",
      "",
      "out",
      "up",
      "file",
      "secret",
      "a",
      "~",
      "files",
      "dm-ann",
      "\0",
      "…",
      "．．",
      "%2e%2e",
    ),
    fc.string({ unit: anyCharacter, maxLength: 8 }),
  );
  const path = fc
    .tuple(fc.constantFrom("", "./", "\\", "ROOT/"), fc.array(part, { maxLength: 8 }), fc.constantFrom("/", "\\"))
    .map(([start, parts, between]) => start + parts.join(between));

  test("neither throws nor leaves the working folder", async () => {
    await fc.assert(
      fc.asyncProperty(path, async (drawn) => {
        const written = drawn.replace(/^ROOT/, shared.root);
        const before = await outside(shared);
        for (const [tool, input] of [
          ["read_file", { path: written }],
          ["write_file", { path: written, content: "changed" }],
          ["list_folder", { path: written }],
        ] as const) {
          const { text } = await call(tool, input, shared);
          expect(text).not.toContain("canary");
        }
        expect(await outside(shared)).toEqual(before);
        await rm(join(shared.workingFolder, "a"), { recursive: true, force: true });
      }),
      { numRuns: runs(300) },
    );
  });
});

describe("/outputs", () => {
  const outputs = () => join(place.workspace, "outputs");

  test("is read, listed and searched like the working folder, and shown by its own name", async () => {
    await mkdir(outputs());
    await writeFile(join(outputs(), "t1-c1.txt"), "one\ntwo\nthree\n");
    expect((await call("read_file", { path: "/outputs/t1-c1.txt", offset: 2 })).text).toBe(
      "(/outputs/t1-c1.txt, lines 2 to 3 of 3)\ntwo\nthree",
    );
    expect((await call("list_folder", { path: "/outputs" })).text).toContain("t1-c1.txt");
    expect((await call("search_files", { path: "/outputs", text: "two" })).text).toBe("/outputs/t1-c1.txt:2: two");
  });

  test("that nothing was kept in yet does not exist", async () => {
    expect(await call("read_file", { path: "/outputs/x.txt" })).toEqual({
      isOk: false,
      text: expect.stringContaining("does not exist"),
    });
  });

  test("can't be written to, and leads nowhere else", async () => {
    await mkdir(outputs());
    await writeFile(join(outputs(), "a.txt"), "one");
    await writeFile(join(place.workspace, "secret.txt"), "canary");
    await symlink(join(place.workspace, "secret.txt"), join(outputs(), "link"));
    const before = await outside();
    expect((await call("write_file", { path: "/outputs/a.txt", content: "two" })).isOk).toBe(false);
    expect((await call("edit_file", { path: "/outputs/a.txt", old_text: "one", new_text: "two" })).isOk).toBe(false);
    for (const path of ["/outputs/../secret.txt", "/outputs/link", "/outputsecret.txt", "/outputs//../../secret.txt"])
      expect((await call("read_file", { path })).text).not.toContain("canary");
    expect(await outside()).toEqual(before);
  });

  test("is no part of a folder of that name", async () => {
    await mkdir(fileIn("outputs"));
    await writeFile(fileIn("outputs", "a.txt"), "mine");
    expect((await call("read_file", { path: "outputs/a.txt" })).text).toBe("mine");
  });
});

describe("over a draft", () => {
  test("every tool works on the draft, and the real folder changes when the turn ends", async () => {
    const draft = await makeDraftPlace();
    try {
      const tool = (name: string, input: JsonObject, use: "read" | "write" = "write") =>
        draft.call(plugin, "filesystem", name, input, { use });
      await writeFile(join(draft.workingFolder, "a.txt"), "one\ntwo\n");
      expect((await tool("edit_file", { path: "a.txt", old_text: "two", new_text: "2" })).isOk).toBe(true);
      expect((await tool("write_file", { path: "sub/b.txt", content: "new 2\n" })).text).toBe(
        "Created sub/b.txt (6 B).",
      );
      expect((await tool("read_file", { path: "a.txt" }, "read")).text).toBe("one\n2");
      expect((await tool("read_file", { path: join(draft.workingFolder, "a.txt") }, "read")).text).toBe("one\n2");
      expect((await tool("search_files", { text: "2" }, "read")).text).toBe("a.txt:2: 2\nsub/b.txt:1: new 2");
      expect((await tool("list_folder", { depth: 2 }, "read")).text).toMatch(/^a\.txt {2}.*\nsub\/\nsub\/b\.txt/);
      expect(await readdir(draft.workingFolder)).toEqual(["a.txt"]);
      await draft.end();
      expect(await readFile(join(draft.workingFolder, "a.txt"), "utf8")).toBe("one\n2\n");
      expect(await readFile(join(draft.workingFolder, "sub", "b.txt"), "utf8")).toBe("new 2\n");
    } finally {
      await draft.remove();
    }
  });

  test("a link that a command made leads none of them out of the folder", async () => {
    const draft = await makeDraftPlace();
    try {
      const { bench, turn } = draft;
      await writeFile(join(bench.root, "secret.txt"), "canary");
      await bench.run(turn, `ln -s ${bench.root} out; ln -s ${bench.root}/secret.txt file; ln -s / root; ln -s .. up`);
      for (const path of ["out/secret.txt", "file", `root${bench.root}/secret.txt`, "up/../../secret.txt"]) {
        for (const [tool, input] of [
          ["read_file", { path }],
          ["write_file", { path, content: "changed" }],
          ["edit_file", { path, old_text: "canary", new_text: "changed" }],
        ] as const) {
          const { text } = await draft.call(plugin, "filesystem", tool, input);
          expect(text).not.toContain("canary");
        }
      }
      await draft.end();
      expect(await readFile(join(bench.root, "secret.txt"), "utf8")).toBe("canary");
    } finally {
      await draft.remove();
    }
  });
});
