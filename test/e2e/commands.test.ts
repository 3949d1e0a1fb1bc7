/** The command line: output, streams and exit codes. What Commander itself does, and one command, are real processes. */
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ended } from "../cli/remora-command.ts";
import { commandHere } from "../cli/remora-here.ts";
import { createHome, environmentOf, type RemoraHome } from "../doubles/remora-process.ts";

const project = resolve(import.meta.dirname, "../..");
let home: RemoraHome;

beforeAll(async () => {
  home = await createHome();
  const folder = join(home.workspace, "brain", "hippocampus", "episodes", "channel:general");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "2026-11-20.md"),
    "# Friday\n\n## 10:15 — The boiler\n\nAnn said that the boiler is descaled in March.\n",
  );
});
afterAll(() => home.remove());

const remora = (given: string[], input = "") => commandHere(environmentOf(home, {}), given, input);

async function remoraProcess(given: string[]): Promise<Ended> {
  const child = spawn(process.execPath, ["src/remora.mjs", ...given], {
    cwd: project,
    env: environmentOf(home, {}),
  });
  const ended: Ended = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (ended.stdout += chunk));
  child.stderr.on("data", (chunk) => (ended.stderr += chunk));
  child.stdin.end();
  ended.code = await new Promise((done) => child.once("close", done));
  return ended;
}

const lines = (text: string): unknown[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("the command line", () => {
  test.each([["nonsense"], ["start", "nonsense"], ["skills", "check", "--nonsense"]])(
    "%s %s is refused in one line on standard error",
    async (...given) => {
      const { code, stdout, stderr } = await remoraProcess(given);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(/^error: (?:unknown|too many)/);
      expect(stderr.trimEnd()).toMatch(/\(--help shows what there is\)$/);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    },
  );

  test.each([
    ["status", "(doctor says whether Remora runs"],
    ["stat", "(Did you mean start?)"],
  ])("%s names what does the same here", async (word, hint) => {
    const { code, stderr } = await remoraProcess([word]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`unknown command '${word}' ${hint}`)]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test.each([[], ["skills", "check"]])("%s %s has --help", async (...given) => {
    const { code, stdout } = await remoraProcess([...given, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: ${["remora", ...given].join(" ")}`);
  });
});

describe("skills check", () => {
  test("prints one array with the fields that tools read, and nothing else", async () => {
    const { code, stdout, stderr } = await remora(["skills", "check", "--json"]);
    expect([code, stderr]).toEqual([0, ""]);
    const shell = (JSON.parse(stdout) as { name: string }[]).find(({ name }) => name === "shell");
    expect(shell).toMatchObject({
      path: join(project, "skills", "shell", "SKILL.md"),
      verdict: "accept",
      triggers: [],
      tools: ["shell_exec", "shell_jobs"],
      danger: expect.any(Number),
      confirm: expect.any(Number),
      diagnostics: [],
    });
  });
});

describe("gate test", () => {
  test("answers each line in order, even an invalid one, and then exits with 1", async () => {
    const input = [
      '{"tool":"shell_exec","args":{"command":"ls"}}',
      "no json",
      '{"tool":"shell_exec","args":{"command":"rm -rf /"}}',
      '{"tool":"shell_exec","args":{"command":"npm install"}}',
    ].join("\n");
    const { code, stdout } = await remora(["gate", "test", "--json"], input);
    expect(code).toBe(1);
    const answers = lines(stdout);
    expect(answers).toMatchObject(["safe", "error", "block", "confirm"].map((verdict) => ({ verdict })));
    expect(answers[2]).toMatchObject({
      matches: expect.arrayContaining([
        {
          skill: "shell",
          kind: "danger",
          pattern: expect.any(String),
          form: expect.any(String),
          line: expect.any(Number),
        },
      ]),
      ms: expect.any(Number),
    });
  });

  test("prints nothing for empty input", async () => {
    expect(await remora(["gate", "test", "--json"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("refuses a missing folder, because every call would look safe without patterns", async () => {
    const input = '{"tool":"shell_exec","args":{"command":"rm -rf /"}}\n';
    const { code, stdout, stderr } = await remora(["gate", "test", "--skills", "/nowhere", "--json"], input);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("[/nowhere] there is no such skills folder\n");
  });
});

describe("memory search", () => {
  test("finds a hand-written file, in its scope only", async () => {
    const found = await remora(["memory", "search", "boiler", "--scope", "channel:general", "--limit", "3", "--json"]);
    expect(JSON.parse(found.stdout)).toMatchObject([
      {
        path: "brain/hippocampus/episodes/channel:general/2026-11-20.md",
        heading: "10:15 — The boiler",
        at: "2026-11-20T10:15:00.000Z",
        scope: "channel:general",
        score: expect.any(Number),
        text: "Ann said that the boiler is descaled in March.",
      },
    ]);
    const other = await remora(["memory", "search", "boiler", "--scope", "channel:random", "--json"]);
    expect(JSON.parse(other.stdout)).toEqual([]);
  });

  test("says where it searched when it finds nothing", async () => {
    expect((await remora(["memory", "search", "zeppelin"])).stdout).toBe("Nothing found.\n");
    const inShared = await remora(["memory", "search", "boiler", "--scope", "shared"]);
    expect(inShared.stdout).toMatch(/^Nothing found in shared\. .*--scope all/);
  });

  test("with --batch answers each line in order", async () => {
    const input = '{"query":"boiler","scope":"channel:general","limit":1}\nno json\n{"query":"","scope":"shared"}\n';
    const { code, stdout } = await remora(["memory", "search", "--batch"], input);
    expect(code).toBe(1);
    expect(lines(stdout)).toMatchObject([
      [{ heading: "10:15 — The boiler" }],
      { error: expect.stringContaining("line 2") },
      [],
    ]);
  });
});

describe("doctor", () => {
  test("finds a fresh installation healthy, and lists what is off", async () => {
    const { code, stdout } = await remora(["doctor", "--json"]);
    const { isHealthy, checks } = JSON.parse(stdout) as { isHealthy: boolean; checks: { name: string }[] };
    expect([code, isHealthy]).toEqual([0, true]);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["node", "config", "workspace", "data", "skills", "model", "sandbox"]),
    );
  });
});
