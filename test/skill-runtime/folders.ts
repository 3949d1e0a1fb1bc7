/** Folders of skills for tests: written from plain data, removed afterwards. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty folder that is gone when the test is over. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "remora-skills-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files by their path below the folder. */
export async function writeFiles(folder: string, files: { [path: string]: string | Uint8Array }): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

export async function skillFolder(files: { [path: string]: string | Uint8Array }): Promise<string> {
  const folder = await temporaryFolder();
  await writeFiles(folder, files);
  return folder;
}

/** A SKILL.md; `fields` is YAML below name and description. */
export function skillText(name: string, fields = "", body = "Do the thing."): string {
  return `---\nname: ${name}\ndescription: What ${name} does\n${fields === "" ? "" : `${fields}\n`}---\n\n${body}\n`;
}
