/** Reads PDF files with PDF.js, in unpdf's build for servers. */
import { getDocumentProxy } from "unpdf";
import { maxTextCharacters } from "./limits.ts";
import { DocumentProblem } from "./problem.ts";
import { type DocumentReader, moreText } from "./reader.ts";

type PDFDocumentProxy = Awaited<ReturnType<typeof getDocumentProxy>>;

const damagedPage = "(this page is damaged)";
/** How long one page may take. */
const maxPageMs = 4_000;

/** Only text is read, so turn off what PDF.js uses for scripts, fonts and images. */
const options = {
  isEvalSupported: false,
  useSystemFonts: false,
  disableFontFace: true,
  useWasm: false,
  maxImageSize: 0,
  verbosity: 0,
};

export async function openPdf(bytes: Uint8Array): Promise<DocumentReader> {
  const pdf = await load(bytes);
  const info = await pdf.getMetadata().then(
    (metadata) => metadata.info as { Title?: unknown },
    () => undefined,
  );
  return {
    mimeType: "application/pdf",
    name: "PDF",
    unit: "page",
    count: pdf.numPages,
    title: typeof info?.Title === "string" ? info.Title : "",
    names: [],
    async *lines(number) {
      const text = await pageText(pdf, number).catch(() => damagedPage);
      if (text !== "") yield* text.split("\n");
    },
    emptyProblem:
      "No text can be read from this PDF. Its pages are probably scanned pictures, or in East Asian fonts that are not part of it. Send the pages as pictures.",
  };
}

async function load(bytes: Uint8Array) {
  try {
    return await getDocumentProxy(bytes, options);
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === "PasswordException") {
      throw new DocumentProblem("The PDF has a password. Send it without one.");
    }
    throw new DocumentProblem("The PDF is damaged or incomplete. Send it again.");
  }
}

/** Returns the text up to the time or size limit, because a page may have millions of words. */
async function pageText(pdf: PDFDocumentProxy, number: number): Promise<string> {
  const page = await pdf.getPage(number);
  const reader = page.streamTextContent().getReader();
  const end = performance.now() + maxPageMs;
  let text = "";
  let isCut = false;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    text += contentText(chunk.value as { items: object[] });
    isCut = text.length > maxTextCharacters || performance.now() > end;
    if (isCut) break;
  }
  // Do not cancel the reader of a cut page, because that would wait for the rest of the page.
  if (!isCut) page.cleanup();
  return `${tidied(text)}${isCut ? `\n${moreText}` : ""}`;
}

function contentText({ items }: { items: readonly object[] }): string {
  let text = "";
  for (const item of items) {
    if (!("str" in item && typeof item.str === "string")) continue;
    text += item.str;
    if ("hasEOL" in item && item.hasEOL === true) text += "\n";
  }
  return text;
}

function tidied(text: string): string {
  return text
    .replace(/[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
