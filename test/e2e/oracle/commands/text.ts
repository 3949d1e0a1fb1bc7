/** Command templates: `{secret}`, `{forbidden}`, `{file}` and similar names are replaced at random. */
import { changedFolders, forbiddenFiles, ownFiles, ownFolders, secretFiles, secretFolders } from "../places.ts";
import type { Random } from "../random.ts";

const words = ["x", "TODO", "canary", "root", "a b", "-n", "%n", "$HOME", "^", ".*", "0", "-1", "é", "--", "/"];
const numbers = ["0", "1", "2", "10", "-1", "1k", "999999999999", "0x10"];
/** Of the view's own that anybody may read. */
const systemFiles = ["/etc/passwd", "/etc/hosts", "/proc/self/status", "/proc/mounts", "/dev/null", "/usr/bin/env"];

const fillings: Record<string, readonly string[]> = {
  secret: secretFiles,
  secrets: secretFolders,
  forbidden: forbiddenFiles,
  own: ownFiles,
  file: [...ownFiles, ...ownFiles, ...systemFiles, ...secretFiles],
  folder: [...ownFolders, ...ownFolders, ...secretFolders],
  /** Folders that can be changed as a whole. */
  place: [...ownFolders, ...changedFolders],
  /** A file to write, mostly a forbidden one. */
  out: [...forbiddenFiles, ...ownFiles],
  word: words.map((word) => quoted(word)),
  number: numbers,
};

/** `{run}` becomes the shell text of `payload`, as one quoted word. */
export function fillTemplate(template: string, random: Random, payload: () => string): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (name === "run") return quoted(payload());
    const choices = fillings[name];
    return choices === undefined ? whole : random.pick(choices);
  });
}

export function quoted(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
