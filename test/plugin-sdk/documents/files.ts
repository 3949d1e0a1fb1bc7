/** Makes real documents for tests, byte by byte: honest ones, and ones that lie. */
import { crc32, deflateRawSync, constants as zlib } from "node:zlib";
import { strToU8, zipSync } from "fflate";

const xml = (body: string) => strToU8(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>${body}`);
const relationTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const rootRelations = (main: string) => relations([["rId1", "officeDocument", main]]);

function relations(listed: readonly (readonly [id: string, type: string, target: string])[]): Uint8Array {
  const rows = listed.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${relationTypes}/${type}" Target="${target}"/>`,
  );
  return xml(
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${rows.join("")}</Relationships>`,
  );
}

type Parts = Record<string, Uint8Array>;

export function office(main: string, parts: Parts, title = ""): Uint8Array {
  return zipSync({ ...packageParts(main, title), ...parts });
}

function packageParts(main: string, title: string): Parts {
  return {
    "[Content_Types].xml": xml(`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`),
    "_rels/.rels": rootRelations(main),
    "docProps/core.xml": xml(
      `<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>${title}</dc:title></cp:coreProperties>`,
    ),
  };
}

/** `body` is what is in `w:body`. */
export function docx(body: string, title?: string): Uint8Array {
  return office("word/document.xml", { "word/document.xml": wordPart(body) }, title);
}

export function wordPart(body: string): Uint8Array {
  return xml(`<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`);
}

export const paragraph = (text: string) => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

export interface TestSheet {
  name: string;
  /** Rows as XML. */
  rows: string;
}

export function xlsx(sheets: readonly TestSheet[], sharedTexts: readonly string[] = [], styles = ""): Uint8Array {
  const parts: Parts = {
    "xl/workbook.xml": xml(
      `<workbook xmlns="x" xmlns:r="r"><sheets>${sheets
        .map(({ name }, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
        .join("")}</sheets></workbook>`,
    ),
    "xl/_rels/workbook.xml.rels": relations([
      ...sheets.map((_sheet, index) => [`rId${index + 1}`, "worksheet", `worksheets/sheet${index + 1}.xml`] as const),
      ["s", "sharedStrings", "sharedStrings.xml"],
      ["t", "styles", "/xl/styles.xml"],
    ]),
    "xl/sharedStrings.xml": xml(
      `<sst xmlns="x">${sharedTexts.map((text) => `<si><t>${text}</t></si>`).join("")}</sst>`,
    ),
    "xl/styles.xml": xml(`<styleSheet xmlns="x">${styles}</styleSheet>`),
  };
  for (const [index, { rows }] of sheets.entries()) {
    parts[`xl/worksheets/sheet${index + 1}.xml`] = xml(
      `<worksheet xmlns="x"><sheetData>${rows}</sheetData></worksheet>`,
    );
  }
  return office("xl/workbook.xml", parts);
}

/** Each slide has lines, and may have notes. The slides are stored in reverse, as after people have moved them. */
export function pptx(slides: readonly { lines: readonly string[]; notes?: string }[]): Uint8Array {
  const texts = (lines: readonly string[]) => lines.map((line) => `<a:p><a:r><a:t>${line}</a:t></a:r></a:p>`).join("");
  const fileOf = (index: number) => `slide${slides.length - index}.xml`;
  const parts: Parts = {
    "ppt/presentation.xml": xml(
      `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${slides
        .map((_slide, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`)
        .join("")}</p:sldIdLst></p:presentation>`,
    ),
    "ppt/_rels/presentation.xml.rels": relations(
      slides.map((_slide, index) => [`rId${index + 1}`, "slide", `slides/${fileOf(index)}`] as const),
    ),
  };
  for (const [index, { lines, notes }] of slides.entries()) {
    parts[`ppt/slides/${fileOf(index)}`] = xml(`<p:sld xmlns:p="p" xmlns:a="a">${texts(lines)}</p:sld>`);
    if (notes === undefined) continue;
    parts[`ppt/slides/_rels/${fileOf(index)}.rels`] = relations([["n", "notesSlide", "../notesSlides/n.xml"]]);
    parts["ppt/notesSlides/n.xml"] = xml(`<p:notes xmlns:p="p" xmlns:a="a">${texts([notes, "1"])}</p:notes>`);
  }
  return office("ppt/presentation.xml", parts);
}

/** A PDF whose pages show these lines; a page without lines shows nothing, like a scan. */
export function pdf(pages: readonly (readonly string[])[], info = ""): Uint8Array {
  const first = 4;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_page, index) => `${first + 2 * index} 0 R`).join(" ")}] >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  for (const [index, lines] of pages.entries()) {
    const content = lines
      .map((line) => `BT /F1 12 Tf 72 ${700 - lines.indexOf(line) * 20} Td (${line}) Tj ET`)
      .join("\n");
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${first + 2 * index + 1} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    );
  }
  return pdfFile(objects, info === "" ? "" : `/Info << ${info} >>`);
}

/** A file of these objects, numbered from 1; the first is the catalog. */
export function pdfFile(objects: readonly string[], trailer = ""): Uint8Array {
  const parts = ["%PDF-1.7\n"];
  const offsets: number[] = [];
  let at = 9;
  for (const [index, object] of objects.entries()) {
    const part = `${index + 1} 0 obj\n${object}\nendobj\n`;
    offsets.push(at);
    parts.push(part);
    at += part.length;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`);
  parts.push(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`);
  return Buffer.from(parts.join(""), "latin1");
}

/** What so many zeros become when they are packed: about a thousandth. */
export function packedZeros(gibibytes: number): Uint8Array {
  // A part that ends at a byte can be repeated. `03 00` is an empty last block.
  const part = deflateRawSync(Buffer.alloc(1024 * 1024), { finishFlush: zlib.Z_FULL_FLUSH });
  return Buffer.concat([...Array.from({ length: gibibytes * 1024 }, () => part), Buffer.from([3, 0])]);
}

export interface RawEntry {
  name: string;
  packed: Uint8Array;
  /** What the entry claims to unpack to. */
  bytes: number;
  /** 8 is deflate, 0 is stored. */
  method?: number;
}

/** A zip archive that says whatever its entries say. */
export function rawZip(entries: readonly RawEntry[]): Uint8Array {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, packed, bytes, method = 8 } of entries) {
    const title = Buffer.from(name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    writeSizes(local, 8, { method, packed: packed.length, bytes, name: title.length });
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    writeSizes(central, 10, { method, packed: packed.length, bytes, name: title.length });
    central.writeUInt32LE(at, 42);
    locals.push(local, title, Buffer.from(packed));
    directory.push(central, title);
    at += local.length + title.length + packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 8);
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

function writeSizes(
  header: Buffer,
  at: number,
  { method, packed, bytes, name }: { method: number; packed: number; bytes: number; name: number },
): void {
  header.writeUInt16LE(method, at);
  header.writeUInt32LE(packed, at + 10);
  header.writeUInt32LE(bytes, at + 14);
  header.writeUInt16LE(name, at + 18);
}

/** A docx whose document is this entry. */
export function docxWith(document: Omit<RawEntry, "name">): Uint8Array {
  const stored = Object.entries(packageParts("word/document.xml", "")).map(([name, packed]) => ({
    ...{ name, packed },
    ...{ bytes: packed.length, method: 0 },
  }));
  return rawZip([...stored, { name: "word/document.xml", ...document }]);
}

/** One second of silence for each 8,000 bytes. */
export function wav(seconds: number): Uint8Array {
  const rate = 8_000;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + seconds * rate, 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(seconds * rate, 40);
  return Buffer.concat([head, Buffer.alloc(seconds * rate)]);
}

/** A grey picture of any size, which packs to nearly nothing. */
export function blankPng(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const row = deflateRawSync(Buffer.alloc(1 + width), { finishFlush: zlib.Z_FULL_FLUSH });
  const bytes = (1 + width) * height;
  const rows = Buffer.concat([Buffer.from([0x78, 0x01]), ...Array.from({ length: height }, () => row)]);
  const end = Buffer.from([3, 0, 0, 0, 0, 0]);
  end.writeUInt32BE(adlerOfZeros(bytes), 2);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    pngChunk("IHDR", header),
    pngChunk("IDAT", Buffer.concat([rows, end])),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function adlerOfZeros(bytes: number): number {
  return ((bytes % 65_521) * 65_536 + 1) >>> 0;
}

function pngChunk(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
