/** Files in the folders of skills, through the toolbox, real drafts and a real sandbox. */
import { lstat, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { ToolAttempt } from "../../src/ports/tool.ts";
import { createSkillLibrary, gateRules, type SkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createToolbox, type SkillToolbox } from "../../src/skill-runtime/toolbox.ts";
import { type Bench, createBench, given } from "../sandbox/draft/draft-bench.ts";
import { skillText, writeFiles } from "../skill-runtime/folders.ts";
import { skillsFolder } from "./place.ts";

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let bench: Bench;
let library: SkillLibrary;
let toolbox: SkillToolbox;
/** Contains the skills of the test, beside a file that belongs to no skill. */
let root: string;
let calls = 0;

beforeAll(async () => {
  bench = await createBench();
  root = join(bench.root, "extra");
  const folder = bench.folder(given);
  await writeFiles(root, {
    "secret.txt": "canary",
    "guide/SKILL.md": skillText("guide", "", "See notes.md."),
    "guide/notes.md": "the level-3 notes",
    "guide/docs/more.md": "deeper notes",
    "guide/.env": "TOKEN=canary",
    "guide/.git/config": "canary",
    "guide/logo.png": Buffer.from(picture, "base64"),
    "guide-two/SKILL.md": skillText("guide-two"),
    "guide-two/notes.md": "notes of two",
    "private/SKILL.md": skillText("private"),
    "private/notes.md": "canary",
  });
  await symlink(join(root, "secret.txt"), join(root, "guide", "link-out"));
  await symlink(root, join(root, "guide", "folder-out"));
  await symlink(".env", join(root, "guide", "link-to-hidden"));
  await symlink("notes.md", join(root, "guide", "link-inside"));
  // A skill inside the folder that a conversation works on.
  await writeFiles(folder, {
    "skills/own/SKILL.md": skillText("own"),
    "skills/own/notes.md": "what is on disk",
  });
  library = createSkillLibrary({
    roots: [skillsFolder, root, join(folder, "skills")],
    ...{ log: silentLog, events: createEvents() },
  });
  await library.reload();
  toolbox = createToolbox({
    ...{ library, log: silentLog, workspace: bench.workspace, drafts: bench.drafts },
    filesRoot: join(bench.workspace, "files"),
    dataFolder: join(bench.root, "data", "skills"),
    config: { deny: ["private"] },
    scalePicture: async (source) => ({
      type: "picture",
      mimeType: "image/png",
      base64: typeof source === "number" ? "descriptor" : Buffer.from(source).toString("base64"),
    }),
  });
});
afterAll(async () => {
  await toolbox.close();
  await library.close();
  await bench.close();
});

type Run = (name: string, input: JsonObject) => Promise<ToolAttempt>;

async function startRun(conversationId?: string): Promise<Run> {
  const turn = await bench.startTurn(conversationId);
  const { scope } = bench.callOf(turn);
  return (name, input) => {
    calls += 1;
    return toolbox.run({ id: `call${calls}`, name, input }, scope, new AbortController().signal);
  };
}

describe("read_file in the folder of a skill", () => {
  test("reads the checklist of the shipped code review, and any other bundled file", async () => {
    const run = await startRun();
    const [, folder = ""] = /^Folder: (.*)$/m.exec((await run("load_skill", { name: "code-review" })).text) ?? [];
    const checklist = await run("read_file", { path: join(folder, "checklist.md") });
    expect(checklist).toMatchObject({ isOk: true, text: expect.stringContaining("# Review checklist"), origins: [] });
    for (const [path, text] of [
      ["guide/notes.md", "the level-3 notes"],
      ["guide/docs/more.md", "deeper notes"],
      ["guide/docs/../notes.md", "the level-3 notes"],
      ["guide/link-inside", "the level-3 notes"],
      ["guide/SKILL.md", "See notes.md."],
    ] as const)
      expect((await run("read_file", { path: `${root}/${path}` })).text).toContain(text);
    const part = await run("read_file", { path: join(root, "guide/SKILL.md"), offset: 2, limit: 1 });
    expect(part.text).toContain("SKILL.md of the skill guide, lines 2 to 2");
  });

  test("shows a picture of a skill by its bytes, because only files of the working folder are named in results", async () => {
    const run = await startRun();
    const { isOk, images } = await run("read_file", { path: join(root, "guide/logo.png") });
    expect([isOk, images]).toEqual([true, [{ mimeType: "image/png", base64: picture }]]);
  });

  test.each([
    ["another file beside the skills", "secret.txt"],
    ["a link out of the folder", "guide/link-out"],
    ["a folder link out of it", "guide/folder-out/secret.txt"],
    ["another skill by a folder link", "guide/folder-out/guide-two/notes.md"],
    ["a way up", "guide/../secret.txt"],
    ["a hidden file", "guide/.env"],
    ["a file in a hidden folder", "guide/.git/config"],
    ["a link to a hidden file", "guide/link-to-hidden"],
    ["a folder whose name begins like a skill's", "guide-three/notes.md"],
    ["a skill that the conversation may not use", "private/notes.md"],
    ["the folder itself", "guide"],
    ["a folder in it", "guide/docs"],
    ["a name with NUL", "guide/notes.md\0"],
    ["a missing file", "guide/missing.md"],
  ])("never reads %s", async (_, path) => {
    const run = await startRun();
    const { isOk, text } = await run("read_file", { path: `${root}/${path}` });
    expect(isOk).toBe(false);
    expect(text).not.toMatch(/canary|notes of two/);
  });

  test("a relative path, or one of the working folder, never means a skill", async () => {
    const run = await startRun();
    expect((await run("read_file", { path: "guide/notes.md" })).isOk).toBe(false);
    await mkdir(join(bench.folder(), "guide"), { recursive: true });
    await symlink(join(root, "guide", "notes.md"), join(bench.folder(), "guide", "way-out"));
    expect((await run("read_file", { path: "guide/way-out" })).text).toContain("outside of the working folder");
  });

  test("no tool writes there, lists it or searches it, and the refusal names load_skill", async () => {
    const run = await startRun();
    const path = join(root, "guide", "notes.md");
    for (const [tool, input] of [
      ["write_file", { path, content: "changed" }],
      ["write_file", { path: join(root, "guide", "new.md"), content: "new" }],
      ["edit_file", { path, old_text: "level", new_text: "changed" }],
      ["list_folder", { path: join(root, "guide", "docs") }],
      ["search_files", { path: join(root, "guide", "docs"), text: "notes" }],
    ] as const) {
      const { isOk, text } = await run(tool, input);
      expect([isOk, text]).toEqual([false, expect.stringContaining("load_skill")]);
      expect(text).not.toContain("deeper notes");
    }
    expect(await readFile(path, "utf8")).toBe("the level-3 notes");
    await expect(lstat(join(root, "guide", "new.md"))).rejects.toThrow("ENOENT");
  });
});

describe("a skill inside the working folder", () => {
  test("is seen as the draft has it, not as it is on disk", async () => {
    const run = await startRun(given);
    const path = join(bench.folder(given), "skills", "own", "notes.md");
    expect((await run("read_file", { path })).text).toBe("what is on disk");
    const written = await run("shell_exec", { command: "echo drafted > skills/own/notes.md" });
    expect(written.isOk).toBe(true);
    expect((await run("read_file", { path })).text).toBe("drafted");
    expect((await run("read_file", { path: "skills/own/notes.md" })).text).toBe("drafted");
    await run("shell_exec", { command: "rm skills/own/notes.md" });
    expect(await run("read_file", { path })).toMatchObject({ isOk: false, text: expect.stringContaining("exist") });
    expect(await readFile(path, "utf8")).toBe("what is on disk");
  });

  test("a link that a draft puts there leads nowhere", async () => {
    const run = await startRun(given);
    const folder = join(bench.folder(given), "skills", "own");
    const target = join(root, "secret.txt");
    await run("shell_exec", { command: `ln -sf ${target} skills/own/link && ln -sfn ${root}/guide skills/own/guide` });
    for (const path of [join(folder, "link"), join(folder, "guide", "notes.md"), "skills/own/link"]) {
      const { isOk, text } = await run("read_file", { path });
      expect(isOk).toBe(false);
      expect(text).not.toMatch(/canary|level-3/);
    }
  });
});

test("patterns about secrets see the path in a skill as any other", async () => {
  const gate = createGate({ rules: gateRules(library.current()), matching: "extended" });
  const verdict = (path: string) => gate.classify("read_file", { path: join(root, path) }).class;
  expect(verdict("guide/notes.md")).toBe("safe");
  for (const path of ["guide/server.pem", "guide/credentials.json", "guide/.env"])
    expect(verdict(path)).toBe("confirm");
  expect(gate.classify("read_file", { path: `${root}/guide/../secret.txt` }).class).toBe("block");
});

test("files of the working folder with text from outside are still marked", async () => {
  const turn = await bench.startTurn();
  const { scope } = bench.callOf(turn);
  await writeFile(join(bench.folder(), "page.txt"), "from the web");
  const run = (path: string) =>
    toolbox.run({ id: `call${++calls}`, name: "read_file", input: { path } }, scope, new AbortController().signal);
  const marked = bench.drafts.runCall(
    { ...bench.callOf(turn), use: "write", tool: "web_fetch" },
    new AbortController().signal,
    async ({ path }) => {
      await writeFile(join(path, "fetched.txt"), "from the web");
      const origins = [{ kind: "web" as const, name: "example.com" }];
      return { isOk: true, text: "", files: [], isRetryable: false, origins };
    },
  );
  expect((await marked).isOk).toBe(true);
  expect((await run("fetched.txt")).origins).toEqual([expect.objectContaining({ kind: "web", name: "example.com" })]);
});
