/** Remembers where each skill in the workspace came from, in `workspace/skills/origins.json`, for `skills update`. */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";

const originSchema = z.object({
  name: z.string(),
  /** A folder, or the address of a git repository, without a password. */
  source: z.string(),
  /** The skill's folder in the source. */
  path: z.string(),
  commit: z.string().optional(),
  addedAt: z.string(),
  /** Of the files as they were added; see `digestOf`. */
  digest: z.string(),
});
export type SkillOrigin = z.infer<typeof originSchema>;
const originsSchema = z.record(z.string(), originSchema);

const fileName = "origins.json";

/** By the name of the skill's folder in the workspace. */
export async function readOrigins(skills: string): Promise<Map<string, SkillOrigin>> {
  const path = join(skills, fileName);
  try {
    return new Map(Object.entries(originsSchema.parse(JSON.parse(await readFile(path, "utf8")))));
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return new Map();
    const why = thrown instanceof z.ZodError ? "it does not have the form that skills add writes" : messageOf(thrown);
    const message = `can't be read: ${why}. Correct it, or delete it and add the skills again`;
    throw new RemoraError({ code: "skills.origins", place: path, message, cause: thrown });
  }
}

/** An undefined origin is removed. */
export async function saveOrigins(
  skills: string,
  changes: readonly { folder: string; origin: SkillOrigin | undefined }[],
): Promise<void> {
  const origins = await readOrigins(skills);
  for (const { folder, origin } of changes) {
    if (origin === undefined) origins.delete(folder);
    else origins.set(folder, origin);
  }
  const sorted = [...origins].sort(([one], [other]) => (one < other ? -1 : 1));
  await writeFileAtomic(join(skills, fileName), `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}

/** Changes if a file's path, content or right to be executed changes. */
export async function digestOf(folder: string): Promise<string> {
  const hash = createHash("sha256");
  for (const path of await filesIn(folder)) {
    const { mode } = await lstat(join(folder, path));
    hash.update(`${path}\0${(mode & 0o111) !== 0}\0`);
    hash.update(
      createHash("sha256")
        .update(await readFile(join(folder, path)))
        .digest(),
    );
  }
  return hash.digest("hex");
}

/** Relative paths of the regular files, sorted. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((path) => relative(folder, path).split(sep).join("/")).sort();
}
