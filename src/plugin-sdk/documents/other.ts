/** Describes files without text: type, size and, for audio, duration. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { FileLook } from "../../ports/file-inspector.ts";
import { oldOfficeType } from "./content-type.ts";
import type { DocumentFile } from "./documents.ts";
import { bytesAt } from "./open-file.ts";
import { soundSeconds } from "./sound-length.ts";

export function otherLook({ descriptor, size, content }: DocumentFile): FileLook {
  const name = content.kind === "other" ? content.name : content.kind;
  const { mimeType } = content.kind === "empty" ? { mimeType: "application/x-empty" } : content;
  const read = (position: number, length: number) => bytesAt(descriptor, position, length);
  const seconds = soundSeconds(mimeType, { size, read });
  const length = seconds === undefined ? [] : [durationText(seconds)];
  const summary = [name, ...length, formatBytes(size)].join(", ");
  if (mimeType !== oldOfficeType) return { mimeType, summary };
  const problem =
    "Old Office files (doc, xls, ppt) and those with a password can't be read here. Save the file as docx, xlsx, pptx or PDF without a password.";
  return { mimeType, summary, problem };
}

function durationText(seconds: number): string {
  const rounded = Math.max(1, Math.round(seconds));
  const [minutes, rest] = [Math.floor(rounded / 60), rounded % 60];
  return minutes === 0 ? `${rest} s` : `${minutes} min ${rest} s`;
}
