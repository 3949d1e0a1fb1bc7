/** Reads what a changelog says about the versions after one. The format is that of Keep a Changelog. */
import { compareVersions } from "../lib/compare-versions.ts";

interface ChangesOptions {
  /** Only newer versions count. */
  version: string;
  withUnreleased: boolean;
  /** Another changelog, whose entries are left out. */
  known?: string;
}

/** Returns the sections of newer versions, newest first, or an empty text. */
export function changesSince(changelog: string, { version, withUnreleased, known = "" }: ChangesOptions): string {
  const sections = changelog.split(/^(?=## )/m).filter((section) => {
    const [, name = ""] = /^## \[?([^\]\s]+)/.exec(section) ?? [];
    if (name.toLowerCase() === "unreleased") return withUnreleased;
    return /^\d/.test(name) && compareVersions(name, version) > 0;
  });
  const old = new Set(blocksOf(known));
  return sections
    .map((section) => withoutKnown(section, old))
    .filter((section) => section !== "")
    .join("\n\n");
}

/** Also drops headings that are left without entries. */
function withoutKnown(section: string, old: ReadonlySet<string>): string {
  const isHeading = (block: string | undefined) => block === undefined || block.startsWith("#");
  const left = blocksOf(section).filter((block) => isHeading(block) || !old.has(block));
  const [title = "", ...rest] = left;
  const kept = rest.filter((block, index) => !isHeading(block) || !isHeading(rest[index + 1]));
  if (kept.length === 0) return "";
  const text = [title, ...kept].map((block) => (isHeading(block) ? `\n${block}\n` : block)).join("\n");
  return text.trim().replace(/\n{3,}/g, "\n\n");
}

/** Headings and entries. */
function blocksOf(text: string): string[] {
  return text.split(/^(?=[-#])/m).map((block) => block.trim());
}
