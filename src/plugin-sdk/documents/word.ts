/** Reads Word documents (docx). */
import { type OfficeFile, officeTypes, relationsOf, titleOf } from "./office.ts";
import { pageBreak, paragraphsOf } from "./paragraphs.ts";
import type { DocumentReader } from "./reader.ts";

/** Many programs don't store where pages end. Such documents are divided into parts of this size. */
const partCharacters = 3_000;
/** A page longer than this must lack page breaks, so it is divided. */
const maxPageCharacters = 20_000;

export function openWord({ zip, mainPart }: OfficeFile): DocumentReader {
  const notes = relationsOf(zip, mainPart)
    .filter(({ type }) => type === "footnotes" || type === "endnotes")
    .flatMap(({ target }) => [...paragraphsOf(zip.text(target) ?? "")])
    .filter((line) => line !== pageBreak && line.trim() !== "");
  const { pages, hasBreaks } = pagesOf(paragraphsOf(zip.text(mainPart) ?? ""));
  if (notes.length > 0) pages.push(["Notes:", ...(notes as string[])]);
  return {
    ...officeTypes.docx,
    unit: hasBreaks ? "page" : "part",
    count: pages.length,
    title: titleOf(zip),
    names: [],
    lines: (page) => pages[page - 1] ?? [],
  };
}

function pagesOf(lines: Iterable<string | typeof pageBreak>): { pages: string[][]; hasBreaks: boolean } {
  const all = [...lines];
  const hasBreaks = all.includes(pageBreak);
  const limit = hasBreaks ? maxPageCharacters : partCharacters;
  const pages: string[][] = [];
  let page: string[] = [];
  let characters = 0;
  const end = () => {
    // Skip an empty page, because a break may be stored twice: once by the author and once by Word.
    if (characters > 0) pages.push(page);
    page = [];
    characters = 0;
  };
  for (const line of all) {
    if (line === pageBreak) {
      end();
      continue;
    }
    if (characters > 0 && characters + line.length > limit) end();
    if (line === "" && page.at(-1) === "") continue;
    page.push(line);
    characters += line.trim().length;
  }
  end();
  return { pages, hasBreaks };
}
