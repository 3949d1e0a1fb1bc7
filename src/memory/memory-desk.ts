/**
 * Lets the operator read, correct and delete what memory holds, file by file. An entry is one note, one episode, or one
 * line of feedback. It is named by its file and the hash of its text, so a change that comes too late is refused.
 */
import { hash } from "node:crypto";
import { basename, join } from "node:path";
import type { FileOrder } from "../lib/file-order.ts";
import type { Redact } from "../lib/redact.ts";
import { asMemoryError, dayOfFile, readEditable } from "./day-files.ts";
import { parseDay } from "./episodes.ts";
import { foldersByScope, markdownFiles } from "./memory-files.ts";
import type { MemoryKind } from "./places.ts";

export interface MemoryScopeCount {
  scope: string;
  /** Number of files. */
  files: Record<MemoryKind, number>;
}

export interface MemoryFileInfo {
  /** Relative to the workspace, with `/` as separator. */
  path: string;
  scope: string;
  kind: MemoryKind;
  /** The day, or the note's name. */
  title: string;
}

export interface MemoryEntry {
  hash: string;
  /** Markdown without the hidden markers. */
  text: string;
  /** Feedback is a record of decisions, so it can be deleted and not edited. */
  canCorrect: boolean;
}

export type MemoryChange = { type: "done"; scope: string } | { type: "gone" } | { type: "refused"; reason: string };

export interface MemoryDesk {
  scopes(): MemoryScopeCount[];
  /** Notes first, then days, newest first. */
  files(scope: string): MemoryFileInfo[];
  /** Undefined if memory has no such file, or it is too large or not text. */
  read(path: string): Promise<{ file: MemoryFileInfo; entries: MemoryEntry[] } | undefined>;
  correct(path: string, entryHash: string, text: string): Promise<MemoryChange>;
  remove(path: string, entryHash: string): Promise<MemoryChange>;
}

export interface MemoryDeskOptions {
  workspace: string;
  inOrder: FileOrder;
  redact: Redact;
}

const kindOrder: readonly MemoryKind[] = ["knowledge", "episode", "feedback"];
const episodeMarker = /^(## [^\n]*\n)\s*(<!-- turn=[^\n]* -->\n)/;
const noteMarker = /^(# [^\n]*\n)(<!-- from=\S* -->\n)/;
const lineMarker = / <!-- [0-9a-f]{16} -->$/;

export function createMemoryDesk({ workspace, inOrder, redact }: MemoryDeskOptions): MemoryDesk {
  const filesOf = (scope: string): MemoryFileInfo[] =>
    (foldersByScope(workspace).get(scope) ?? []).flatMap(({ kind, folder }) =>
      markdownFiles(join(workspace, folder)).map((name) => {
        const title = kind === "knowledge" ? name.replace(/\.md$/i, "") : basename(name, ".md");
        return { path: `${folder}/${name}`, scope, kind, title };
      }),
    );

  /** Only a path that a listing contains, so nothing leads out of memory's folders. */
  function find(path: string): MemoryFileInfo | undefined {
    for (const [scope, folders] of foldersByScope(workspace)) {
      if (folders.some(({ folder }) => path.startsWith(`${folder}/`))) {
        const found = filesOf(scope).find((file) => file.path === path);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  async function change(
    path: string,
    entryHash: string,
    edit: (kind: MemoryKind, raw: string) => string | undefined | { reason: string },
  ): Promise<MemoryChange> {
    const file = find(path);
    if (file === undefined) return { type: "gone" };
    const absolute = join(workspace, path);
    const day = dayOfFile(path);
    // The key under which entries of this day are written.
    const key = day === undefined ? absolute : join(absolute, "..", day);
    return await inOrder(key, async (files): Promise<MemoryChange> => {
      try {
        const { preamble, raws } = split(file.kind, (await readEditable(absolute)) ?? "");
        const index = raws.findIndex((raw) => hashOfEntry(raw) === entryHash);
        const raw = raws[index];
        if (raw === undefined) return { type: "gone" };
        const edited = edit(file.kind, raw);
        if (typeof edited === "object") return { type: "refused", reason: edited.reason };
        const text = preamble + raws.toSpliced(index, 1, edited ?? "").join("");
        if (edited === undefined && file.kind === "knowledge") await files.remove(absolute);
        else await files.write(absolute, text);
        return { type: "done", scope: file.scope };
      } catch (thrown) {
        throw asMemoryError(thrown, path);
      }
    });
  }

  return {
    scopes: () =>
      [...foldersByScope(workspace)].map(([scope, folders]) => {
        const files: Record<MemoryKind, number> = { knowledge: 0, episode: 0, feedback: 0 };
        for (const { kind, folder } of folders) files[kind] += markdownFiles(join(workspace, folder)).length;
        return { scope, files };
      }),
    files: (scope) =>
      filesOf(scope).toSorted((one, other) => {
        if (one.kind !== other.kind) return kindOrder.indexOf(one.kind) - kindOrder.indexOf(other.kind);
        const order = one.title.localeCompare(other.title, "en", { numeric: true });
        return one.kind === "knowledge" ? order : -order;
      }),
    async read(path) {
      const file = find(path);
      const text = file === undefined ? undefined : await readEditable(join(workspace, path));
      if (file === undefined || text === undefined) return undefined;
      const entries = split(file.kind, text).raws.map((raw) => ({
        hash: hashOfEntry(raw),
        text: visible(file.kind, raw),
        canCorrect: file.kind !== "feedback",
      }));
      return { file, entries };
    },
    correct: (path, entryHash, text) =>
      change(path, entryHash, (kind, raw) => corrected(kind, raw, redact(text.replace(/\r\n?/g, "\n").trim()))),
    remove: (path, entryHash) => change(path, entryHash, () => undefined),
  };
}

function hashOfEntry(raw: string): string {
  return hash("sha256", raw, "base64url").slice(0, 22);
}

/** `preamble` and all `raws` together are the complete file. */
function split(kind: MemoryKind, text: string): { preamble: string; raws: string[] } {
  if (kind === "knowledge") return { preamble: "", raws: text === "" ? [] : [text] };
  if (kind === "episode") {
    const { preamble, entries } = parseDay(text);
    return { preamble, raws: entries.map(({ raw }) => raw) };
  }
  const [preamble = "", ...raws] = text.split(/(?<=^|\n)(?=- )/);
  return { preamble, raws };
}

function visible(kind: MemoryKind, raw: string): string {
  if (kind === "episode") return raw.replace(episodeMarker, "$1").trim();
  if (kind === "knowledge") return raw.replace(noteMarker, "$1").trim();
  return raw.trim().replace(lineMarker, "");
}

/** The markers say whose the entry is and where its text comes from, so a correction keeps them. */
function corrected(kind: MemoryKind, raw: string, text: string): string | { reason: string } {
  if (kind === "feedback") return { reason: "Decisions are a record, so they can be deleted and not corrected." };
  const mark = kind === "episode" ? "##" : "#";
  if (!new RegExp(`^${mark} \\S`).test(text))
    return { reason: `The first line must stay a heading that starts with “${mark} ”.` };
  const [headline = "", ...rest] = text.split("\n");
  if (kind === "episode" && rest.some((line) => line.startsWith("## ")))
    return { reason: "Only the first line may start with “## ”, because each such line begins an entry." };
  if (/^<!-- (?:turn|from)=/m.test(text)) return { reason: "No line may start with <!-- turn= or <!-- from=." };
  const [, , marker = ""] = (kind === "episode" ? episodeMarker : noteMarker).exec(raw) ?? [];
  const body = rest.join("\n").replace(/^\n+/, "");
  const between = kind === "episode" ? `\n${marker}\n` : `${marker}`;
  const end = /\n*$/.exec(raw)?.[0] ?? "\n";
  return `${headline}\n${between}${kind === "knowledge" && marker === "" ? rest.join("\n") : body}${end === "" ? "\n" : end}`;
}
