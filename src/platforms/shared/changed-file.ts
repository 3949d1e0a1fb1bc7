/**
 * The line about a changed file, where there is little room: the detail loses its end and the path its middle, but the warning
 * stays whole, and a line with a warning is no longer than others.
 */
import { shorten, shortenMiddle } from "../../lib/text/shorten.ts";
import type { ShownChange } from "../../ports/card.ts";

/** The beginning and the name of a path are still to be seen. */
const minPathLength = 40;

export interface FittedFile {
  path: string;
  /** The detail and the warning. */
  about: string;
  isWhole: boolean;
}

export function fitFile(file: ShownChange, maxPathLength: number, maxDetailLength: number): FittedFile {
  const { warning = "" } = file;
  const path = shortenMiddle(file.path, Math.max(minPathLength, maxPathLength - warning.length));
  const detail = shorten(file.detail, maxDetailLength);
  return { path, about: aboutText({ detail, warning }), isWhole: path === file.path && detail === file.detail };
}

export function countWarned(files: readonly ShownChange[]): number {
  return files.filter(({ warning }) => warning !== undefined).length;
}

/** With the warning at first, for lines that may lose their end. */
export function aboutText(
  { detail, warning = "" }: Pick<ShownChange, "detail" | "warning">,
  isWarningFirst = false,
): string {
  const parts = isWarningFirst ? [warning, detail] : [detail, warning];
  return parts.filter((part) => part !== "").join(", ");
}
