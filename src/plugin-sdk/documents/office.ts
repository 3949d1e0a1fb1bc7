/** What docx, xlsx and pptx have in common: parts in a zip archive, and relationships between them. */
import { posix } from "node:path";
import { xmlTokens } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

export type OfficeKind = "docx" | "xlsx" | "pptx";

export interface OfficeFile {
  kind: OfficeKind;
  zip: ZipArchive;
  /** The name of the part that contains the document, workbook or presentation. */
  mainPart: string;
}

export const officeTypes: Record<OfficeKind, { mimeType: string; name: string }> = {
  docx: {
    mimeType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    name: "Word document",
  },
  xlsx: { mimeType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", name: "Excel workbook" },
  pptx: {
    mimeType: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    name: "PowerPoint presentation",
  },
};

const roots: readonly (readonly [string, OfficeKind])[] = [
  ["word/", "docx"],
  ["xl/", "xlsx"],
  ["ppt/", "pptx"],
];

/** Undefined for other zip archives. */
export function officeFileIn(zip: ZipArchive): OfficeFile | undefined {
  if (!zip.entries.has("[Content_Types].xml")) return undefined;
  const main = relationsOf(zip, "").find(({ type }) => type === "officeDocument");
  const kind = roots.find(([root]) => main?.target.startsWith(root))?.[1];
  return main === undefined || kind === undefined ? undefined : { kind, zip, mainPart: main.target };
}

export interface Relation {
  id: string;
  /** The last segment of the relationship type's URL: `slide`, `worksheet`, `notesSlide`. */
  type: string;
  /** The name of the part that it points to. */
  target: string;
}

/** Returns a part's relationships to other parts. Omits those that point outside the file. */
export function relationsOf(zip: ZipArchive, part: string): Relation[] {
  const folder = posix.dirname(part);
  const xml = zip.text(posix.join(folder, "_rels", `${posix.basename(part)}.rels`)) ?? "";
  const relations: Relation[] = [];
  for (const token of xmlTokens(xml)) {
    if (token.type !== "open" || token.name !== "Relationship") continue;
    const target = token.attributes("Target") ?? "";
    if (target === "" || token.attributes("TargetMode") === "External") continue;
    relations.push({
      id: token.attributes("Id") ?? "",
      type: (token.attributes("Type") ?? "").split("/").at(-1) ?? "",
      target: posix.join("/", target.startsWith("/") ? "" : folder, target).slice(1),
    });
  }
  return relations;
}

export function titleOf(zip: ZipArchive): string {
  let title = "";
  let isTitle = false;
  for (const token of xmlTokens(zip.text("docProps/core.xml") ?? "")) {
    if (token.type === "text") title += isTitle ? token.text : "";
    else if (token.name === "title") isTitle = token.type === "open";
  }
  return title.trim();
}
