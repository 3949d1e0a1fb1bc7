/** What npm would install: a tarball with everything that Remora needs, whose command works below node_modules. */
import { execFile } from "node:child_process";
import { mkdir, readFile, rename, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "./remora-command.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");

test("the package has what it needs and nothing private, and its command runs", async () => {
  const folder = await temporaryFolder();
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    cwd: project,
  });
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string; files: { path: string }[] }>);
  const paths = packed?.files.map(({ path }) => path) ?? [];
  for (const needed of [
    "src/remora.mjs",
    "src/main.ts",
    "skills/shell/SKILL.md",
    "config/remora.yaml",
    "slack/manifest.yaml",
    "workspace/brain/identity/soul.md",
  ])
    expect(paths).toContain(needed);
  expect(paths.filter((path) => /^(?:test|data|bench|scripts)\/|\.env$|^workspace\/files|\.debug/.test(path))).toEqual(
    [],
  );

  await run("tar", ["xzf", join(folder, packed?.filename ?? "")], { cwd: folder });
  const installed = join(folder, "node_modules", "remora");
  await mkdir(join(folder, "node_modules"));
  await rename(join(folder, "package"), installed);
  await symlink(join(project, "node_modules"), join(installed, "node_modules"));
  const command = join(installed, "src/remora.mjs");
  const { version } = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as { version: string };
  const ended = await run(process.execPath, [command, "config", "get", "REMORA_CONFIG"], { cwd: folder });
  expect(ended).toEqual({ stdout: "not set\n", stderr: "" });
  expect((await run(process.execPath, [command, "--version"], { cwd: folder })).stdout).toBe(`${version}\n`);
});
