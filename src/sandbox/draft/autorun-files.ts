/** Finds files that git, CI, a shell or an editor runs automatically. Takes linear time, because drafts may be huge. */
import type { Effect, Effects } from "../effects/effect.ts";

const files = new Set([".gitmodules", ".gitlab-ci.yml", ".envrc"]);
const gitFiles = new Set(["config", "config.worktree", "commondir"]);
const editorFiles = new Set(["tasks.json", "settings.json"]);
const folders = new Set([".husky", ".circleci"]);
/** A link or file with one of these names can lead to a folder with autorun files. */
const pointers = new Set([".git", ".husky", ".circleci", ".github", ".vscode"]);
const pointersInGit = new Set(["hooks", "modules", "worktrees"]);

export function findAutorunFiles({ effects }: Pick<Effects, "effects">): ReadonlySet<string> {
  const found = new Set<string>();
  for (const effect of effects) {
    if (effect.action === "deleted" || !runsAutomatically(effect)) continue;
    for (let path = effect.path; path !== "" && !found.has(path); path = parentFolder(path)) found.add(path);
  }
  return found;
}

function runsAutomatically({ path, type }: Effect): boolean {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const parent = parts.at(-1) ?? "";
  const isInGit = parts.includes(".git");
  if (type !== "folder" && (pointers.has(name) || (isInGit && pointersInGit.has(name)))) return true;
  if (type !== "folder" && parent === ".github" && name === "workflows") return true;
  if (isInGit) return gitFiles.has(name) || (parent === "hooks" && !name.endsWith(".sample"));
  if (files.has(name) || (parent === ".vscode" && editorFiles.has(name))) return true;
  return parts.some((part, index) => folders.has(part) || (part === "workflows" && parts[index - 1] === ".github"));
}

function parentFolder(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
