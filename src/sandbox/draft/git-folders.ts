/**
 * What git runs by itself: hooks, and whatever a repository's configuration names. A folder is a repository when it has the
 * parts of one, whatever it is called, so one that a change completes counts as well.
 */
import { readdirSync } from "node:fs";
import type { Effect } from "../effects/effect.ts";
import { decodePath, joinPath, type RawPath } from "../effects/raw-path.ts";

export const gitHooks: ReadonlySet<string> = new Set(
  `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
  pre-rebase post-checkout post-merge pre-push pre-receive proc-receive post-receive post-update reference-transaction
  push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist
  p4-post-changelist p4-pre-submit post-index-change`.split(/\s+/),
);

/** In a repository, these hold only data. Everything else there may name a program, as far as is known. */
const dataFiles =
  /^(head|[a-z]+_head|auto_merge|[a-z]+_(msg|mode|rr|editmsg)|description|index|packed-refs|shallow|gc\.(log|pid)|git-daemon-export-ok|.*\.lock)$/;
const dataFolders: ReadonlySet<string> = new Set(["objects", "refs", "logs", "lfs", "rr-cache"]);
const dataInInfo: ReadonlySet<string> = new Set(["exclude", "refs", "grafts", "sparse-checkout"]);
/** The names by which a repository without the name `.git` shows. */
const repositoryParts: ReadonlySet<string> = new Set(
  "head config config.worktree commondir gitdir objects refs hooks info packed-refs modules worktrees".split(" "),
);

const hidden = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

export interface GitFolders {
  runs(effect: Effect): boolean;
}

export function isGitPath(parts: readonly string[]): boolean {
  return parts.includes(".git");
}

/** `parts` must contain `.git`. */
export function runsInGitFolder(parts: readonly string[], type: Effect["type"]): boolean {
  return runsInRepository(parts.slice(parts.lastIndexOf(".git") + 1), type);
}

function runsInRepository(inside: readonly string[], type: Effect["type"]): boolean {
  if (type === "folder") return false;
  // A link, or a file in place of the folder, leads git to another place for its hooks.
  if (type !== "file" || inside.length === 0) return true;
  const [first = "", second = ""] = inside;
  if (first === "modules" || first === "worktrees") return runsInRepository(inside.slice(2), type);
  if (inside.length === 1) return !dataFiles.test(first);
  if (first === "hooks") return !second.endsWith(".sample");
  if (first === "info") return !dataInInfo.has(second);
  return !dataFolders.has(first);
}

/** Looks for repositories that are called otherwise, in `base` with the effects. Reads only folders that may be one. */
export function createGitFolders(effects: readonly Effect[], base: string): GitFolders {
  const after = new Map<RawPath, { added: Set<string>; deleted: Set<RawPath> }>();
  for (const { raw, action } of effects) {
    for (const { folder, part, isLast } of partsOfRepositories(raw)) {
      const changed = after.get(folder) ?? { added: new Set(), deleted: new Set() };
      if (action !== "deleted") changed.added.add(part);
      // Only this spelling of the name: another one may still be there.
      else if (isLast) changed.deleted.add(raw);
      after.set(folder, changed);
    }
  }
  const repositories = new Map<RawPath, { isNew: boolean }>();
  for (const [folder, { added, deleted }] of after) {
    const before = namesIn(base, folder);
    const left = before.filter((name) => !deleted.has(joinPath(folder, name)));
    const isThere = (names: readonly Buffer[], more: Iterable<string> = []) =>
      isRepository(new Set([...names.map((name) => withoutStream(comparableName(name))), ...more]));
    if (isThere(left, added)) repositories.set(folder, { isNew: !isThere(before) });
  }
  return {
    runs({ raw, type, action }) {
      if (repositories.size === 0 || action === "deleted") return false;
      return partsOfRepositories(raw).some(({ folder, inside, isLast }) => {
        const found = repositories.get(folder);
        return found !== undefined && ((found.isNew && isLast) || runsInRepository(inside, type));
      });
    },
  };
}

/** Where the path may enter a repository: the folder, the part of the repository, and the path from there. */
function partsOfRepositories(raw: RawPath) {
  const names = raw.split("/");
  const [parts = []] = readings(raw);
  return parts.flatMap((part, at) => {
    if (!repositoryParts.has(part)) return [];
    const folder = names.slice(0, at).join("/");
    return [{ folder, part, inside: parts.slice(at), isLast: at === parts.length - 1 }];
  });
}

/** What git asks for. With `commondir`, the other parts are elsewhere. */
function isRepository(names: ReadonlySet<string>): boolean {
  return names.has("head") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));
}

/** Empty for a folder that can't be read: then only the effects count. */
function namesIn(base: string, folder: RawPath): Buffer[] {
  const inside = folder === "" ? [] : decodePath(folder).flatMap((name) => [Buffer.from("/"), name]);
  try {
    return readdirSync(Buffer.concat([Buffer.from(base), ...inside]), "buffer");
  } catch {
    return [];
  }
}

/** Few paths have one of these, and drafts may be huge. */
const unusual = /[^\x20-\x7e]|[%:]|[. ](?:\/|$)|(?:^|\/) /;

/** Each way to read the path: Windows leaves out what follows a colon in a name, and other systems don't. */
export function readings(raw: RawPath): string[][] {
  if (!unusual.test(raw)) return [raw.toLowerCase().split("/")];
  const names = decodePath(raw).map(comparableName);
  return names.some((name) => name.includes(":")) ? [names.map(withoutStream), names] : [names];
}

/** As file systems compare names that ignore case, invisible characters, and dots and blanks at the end. */
function comparableName(bytes: Buffer): string {
  const name = bytes.toString("utf8").normalize("NFKC").replace(hidden, "").toLowerCase();
  return withoutEnd(name) || name;
}

function withoutStream(name: string): string {
  return withoutEnd(name.replace(/:.*$/, "")) || name;
}

function withoutEnd(name: string): string {
  return name.replace(/[. ]+$/, "").trim();
}
