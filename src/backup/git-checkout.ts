/** Finds a newer version for a git checkout, and moves the checkout to it and back. Never overwrites what people changed. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { compareVersions } from "../lib/compare-versions.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { describeSchemaChanges, schemaVersionsFile } from "./schema-changes.ts";

export interface Target {
  /** A tag, or the upstream branch. */
  name: string;
  commit: string;
  version: string;
  changelog: string;
  /** That of the version in place. */
  changelogHere: string;
  /** What changes in the format of the data, for people. */
  schemaChanges: string;
}

export interface GitCheckout {
  commit(): Promise<string>;
  /** Fetches. Resolves to undefined if there is nothing newer. Rejects if the checkout can't move to it safely. */
  findTarget(version: string, wanted: string | undefined): Promise<Target | undefined>;
  moveTo(commit: string): Promise<void>;
  /**
   * Undoes `moveTo(to)`, also one that was cut off in the middle. Keeps changes of files that the versions do not differ
   * in; nobody has changed the others, because `findTarget` refuses that.
   */
  moveBack(from: string, to: string): Promise<void>;
}

const fetchTimeoutMs = 120_000;
const maxOutputBytes = 64 * 1024 * 1024;
const maxListedFiles = 10;
const maxPathsInCommand = 500;
/** People are meant to change these, so only a clash stops an upgrade. */
const ownFiles = /^(?:config|workspace)\//;

export function createGitCheckout(root: string): GitCheckout {
  const git = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)("git", ["-c", "core.quotePath=false", ...args], {
      ...{ cwd: root, maxBuffer: maxOutputBytes, timeout: fetchTimeoutMs },
      env: { ...process.env, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
    });
    return stdout.trim();
  };
  const linesOf = async (...args: string[]) => (await git(...args)).split("\n").filter((line) => line !== "");
  const isAncestor = (one: string, other: string) =>
    git("merge-base", "--is-ancestor", one, other).then(
      () => true,
      () => false,
    );

  const isThere = (path: string) => existsSync(join(root, path));

  async function fetch(): Promise<void> {
    try {
      await git("fetch", "--quiet", "--tags", "origin");
    } catch (thrown) {
      throw failure(
        "network",
        `the newest version can't be fetched: ${reasonOf(thrown)}. Check the network and the remote "origin"`,
        thrown,
      );
    }
  }

  async function newest(version: string, wanted: string | undefined): Promise<string | undefined> {
    if (wanted !== undefined) return wanted;
    const tags = (await linesOf("tag", "--list", "v*")).filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag));
    if (tags.length === 0) return await git("rev-parse", "--abbrev-ref", "@{upstream}").catch(() => undefined);
    const [last] = tags.toSorted(compareVersions).slice(-1);
    return last !== undefined && compareVersions(last, version) > 0 ? last : undefined;
  }

  async function checkChanges(target: string): Promise<void> {
    const changed = await linesOf("diff", "--name-only", "HEAD");
    const others = changed.filter((path) => !ownFiles.test(path));
    if (others.length > 0)
      throw failure("changed", `these files of Remora were changed here: ${list(others)}. Commit or undo that first`);
    const incoming = new Set(await linesOf("diff", "--name-only", "HEAD", target));
    const added = await linesOf("diff", "--name-only", "--no-renames", "--diff-filter=A", "HEAD", target);
    const clashing = [...changed.filter((path) => incoming.has(path)), ...added.filter(isThere)];
    if (clashing.length > 0)
      throw failure(
        "clash",
        `these files were changed here and in the new version: ${list(clashing)}. Commit your version and merge ${target} yourself`,
      );
  }

  return {
    commit: () => git("rev-parse", "HEAD"),
    async findTarget(version, wanted) {
      await fetch();
      const name = await newest(version, wanted);
      if (name === undefined) return undefined;
      const commit = await git("rev-parse", "--verify", "--quiet", `${name}^{commit}`).catch((thrown: unknown) => {
        throw failure("unknown", `there is no version ${name}`, thrown);
      });
      const here = await git("rev-parse", "HEAD");
      if (commit === here || (wanted === undefined && (await isAncestor(commit, here)))) return undefined;
      if (!(await isAncestor(here, commit)))
        throw failure(
          "diverged",
          `this checkout has commits that ${name} does not have. Merge ${name} yourself: git merge ${name}`,
        );
      await checkChanges(commit);
      const { version: found } = JSON.parse(await git("show", `${commit}:package.json`)) as { version: string };
      const textIn = (revision: string, path: string) => git("show", `${revision}:${path}`).catch(() => "");
      const schemas = await Promise.all([here, commit].map((each) => textIn(each, schemaVersionsFile)));
      return {
        ...{ name, commit, version: found, changelog: await textIn(commit, "CHANGELOG.md") },
        changelogHere: await textIn(here, "CHANGELOG.md"),
        schemaChanges: describeSchemaChanges(...(schemas as [string, string])),
      };
    },
    moveTo: async (commit) => {
      const isOnBranch = await git("symbolic-ref", "--quiet", "HEAD").catch(() => undefined);
      if (isOnBranch === undefined) await git("checkout", "--quiet", "--detach", commit);
      else await git("merge", "--quiet", "--ff-only", commit);
    },
    async moveBack(from, to) {
      const between = (filter: string) =>
        linesOf("diff", "--name-only", "--no-renames", `--diff-filter=${filter}`, from, to);
      try {
        await git("reset", "--quiet", "--keep", from);
        // If moving was cut off, git still says that it is at `from`, but some files are those of `to`.
        const added = await between("A");
        for (const some of chunks(added))
          await git("rm", "--quiet", "--force", "--cached", "--ignore-unmatch", "--", ...some);
        for (const path of added) await rm(join(root, path), { force: true });
        for (const some of chunks(await between("a"))) await git("checkout", "--quiet", "--force", from, "--", ...some);
      } catch (thrown) {
        const said = reasonOf(thrown);
        const todo = said.includes("index.lock") ? ". If no other git command runs, delete that file" : "";
        throw new Error(`the code could not be put back: ${said}${todo}`, { cause: thrown });
      }
    },
  };
}

/** A command line has a maximum length. */
function chunks(paths: string[]): string[][] {
  return Array.from({ length: Math.ceil(paths.length / maxPathsInCommand) }, (_, index) =>
    paths.slice(index * maxPathsInCommand, (index + 1) * maxPathsInCommand),
  );
}

function list(paths: string[]): string {
  const more = paths.length - maxListedFiles;
  return `${paths.slice(0, maxListedFiles).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Git's own words, from the line that says what failed. */
function reasonOf(thrown: unknown): string {
  const text = typeof thrown === "object" && thrown !== null && "stderr" in thrown ? String(thrown.stderr) : "";
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const line = lines.find((one) => one.startsWith("fatal: ")) ?? lines.at(-1) ?? messageOf(thrown);
  return line.replace(/^fatal: /, "").replace(/\.$/, "");
}

function failure(code: string, message: string, cause?: unknown): RemoraError {
  return new RemoraError({
    code: `upgrade.${code}`,
    place: "upgrade",
    message: `${message}. Nothing was changed.`,
    cause,
  });
}
