/**
 * Files that git, a CI service, a shell or an editor starts without being told to, once they are in the real folder. Cards
 * point them out. Reads names once from left to right: a command may make very many of them.
 */
import type { Effect, Effects } from "../effects/effect.ts";

const files = new Set([".gitmodules", ".gitlab-ci.yml", ".envrc"]);
const gitFiles = new Set(["config", "config.worktree", "commondir"]);
const editorFiles = new Set(["tasks.json", "settings.json"]);
const folders = new Set([".husky", ".circleci"]);
/** As a link, or a file with the way to a repository, each of these leads to what starts by itself. */
const leading = new Set([".git", ".husky", ".circleci", ".github", ".vscode"]);
const leadingInGit = new Set(["hooks", "modules", "worktrees"]);

/** Their paths, and the folders that they are in. */
export function startersIn({ effects }: Pick<Effects, "effects">): ReadonlySet<string> {
  const places = new Set<string>();
  for (const effect of effects) {
    if (effect.action === "deleted" || !startsByItself(effect)) continue;
    for (let place = effect.path; place !== "" && !places.has(place); place = folderOf(place)) places.add(place);
  }
  return places;
}

function startsByItself({ path, type }: Effect): boolean {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const parent = parts.at(-1) ?? "";
  const isInGit = parts.includes(".git");
  if (type !== "folder" && (leading.has(name) || (isInGit && leadingInGit.has(name)))) return true;
  if (type !== "folder" && parent === ".github" && name === "workflows") return true;
  if (isInGit) return gitFiles.has(name) || (parent === "hooks" && !name.endsWith(".sample"));
  if (files.has(name) || (parent === ".vscode" && editorFiles.has(name))) return true;
  return parts.some((part, index) => folders.has(part) || (part === "workflows" && parts[index - 1] === ".github"));
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
