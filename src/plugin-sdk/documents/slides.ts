/** Reads PowerPoint presentations (pptx): the text of each slide, and its notes. */
import { type OfficeFile, officeTypes, relationsOf, titleOf } from "./office.ts";
import { pageBreak, paragraphsOf } from "./paragraphs.ts";
import type { DocumentReader } from "./reader.ts";
import { xmlTokens } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

export function openSlides({ zip, mainPart }: OfficeFile): DocumentReader {
  const parts = new Map(relationsOf(zip, mainPart).map(({ id, target }) => [id, target]));
  const slides: string[] = [];
  for (const token of xmlTokens(zip.text(mainPart) ?? "")) {
    if (token.type !== "open" || token.name !== "sldId") continue;
    const part = parts.get(token.attributes("r:id") ?? "");
    if (part !== undefined) slides.push(part);
  }
  return {
    ...officeTypes.pptx,
    unit: "slide",
    count: slides.length,
    title: titleOf(zip),
    names: [],
    lines: (page) => slideLines(zip, slides[page - 1] ?? ""),
  };
}

function* slideLines(zip: ZipArchive, part: string): Generator<string> {
  yield* textLines(zip, part);
  const notes = relationsOf(zip, part).find(({ type }) => type === "notesSlide");
  if (notes === undefined) return;
  // Drop lines of digits only: a notes page often ends with the slide's number.
  const lines = [...textLines(zip, notes.target)].filter((line) => !/^\d+$/.test(line));
  if (lines.length > 0) yield* ["Notes:", ...lines];
}

function* textLines(zip: ZipArchive, part: string): Generator<string> {
  for (const line of paragraphsOf(zip.text(part) ?? "")) if (line !== pageBreak && line.trim() !== "") yield line;
}
