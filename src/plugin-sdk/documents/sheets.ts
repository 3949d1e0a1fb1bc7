/** Reads Excel workbooks (xlsx): each row is a line, with tabs between cells. Formulas appear as their last result. */
import { cellFormats, dateText } from "./cell-formats.ts";
import { maxColumns } from "./limits.ts";
import { type OfficeFile, officeTypes, relationsOf, titleOf } from "./office.ts";
import type { DocumentReader } from "./reader.ts";
import { xmlTokens } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

interface Sheet {
  name: string;
  part: string;
}

interface Workbook {
  sheets: Sheet[];
  startsIn1904: boolean;
}

interface CellContext {
  sharedTexts: readonly string[];
  isDate(style: number): boolean;
  startsIn1904: boolean;
}

export function openSheets({ zip, mainPart }: OfficeFile): DocumentReader {
  const relations = relationsOf(zip, mainPart);
  const parts = new Map(relations.map(({ id, target }) => [id, target]));
  const { sheets, startsIn1904 } = workbookOf(zip.text(mainPart) ?? "", parts);
  const partOf = (wanted: string) => relations.find(({ type }) => type === wanted)?.target ?? "";
  let context: CellContext | undefined;
  const contextOf = () => {
    context ??= {
      sharedTexts: sharedTextsOf(zip.text(partOf("sharedStrings")) ?? ""),
      isDate: cellFormats(zip.text(partOf("styles")) ?? ""),
      startsIn1904,
    };
    return context;
  };
  return {
    ...officeTypes.xlsx,
    unit: "sheet",
    count: sheets.length,
    title: titleOf(zip),
    names: sheets.map(({ name }) => name),
    lines: (page) => rowsOf(zip, sheets[page - 1]?.part ?? "", contextOf()),
  };
}

function workbookOf(xml: string, parts: ReadonlyMap<string, string>): Workbook {
  const workbook: Workbook = { sheets: [], startsIn1904: false };
  for (const token of xmlTokens(xml)) {
    if (token.type !== "open") continue;
    if (token.name === "workbookPr") workbook.startsIn1904 = /^(?:1|true)$/.test(token.attributes("date1904") ?? "");
    if (token.name !== "sheet") continue;
    const part = parts.get(token.attributes("r:id") ?? "");
    if (part === undefined) continue;
    const isHidden = (token.attributes("state") ?? "visible") !== "visible";
    workbook.sheets.push({ name: `${token.attributes("name") ?? ""}${isHidden ? " (hidden)" : ""}`, part });
  }
  return workbook;
}

function sharedTextsOf(xml: string): string[] {
  const texts: string[] = [];
  let text = "";
  let isText = false;
  let isPhonetic = false;
  for (const token of xmlTokens(xml)) {
    if (token.type === "text") text += isText && !isPhonetic ? token.text : "";
    else if (token.name === "t") isText = token.type === "open";
    else if (token.name === "rPh") isPhonetic = token.type === "open";
    else if (token.name === "si" && token.type === "close") {
      texts.push(text);
      text = "";
    }
  }
  return texts;
}

function* rowsOf(zip: ZipArchive, part: string, context: CellContext): Generator<string> {
  let row: string[] = [];
  let cell = { column: 0, type: "n", style: 0 };
  let value = "";
  let isValue = false;
  for (const token of xmlTokens(zip.text(part) ?? "")) {
    if (token.type === "text") {
      if (isValue) value += token.text;
      continue;
    }
    const isOpen = token.type === "open";
    if (token.name === "v" || token.name === "t") isValue = isOpen;
    else if (token.name === "row") {
      if (!isOpen && row.length > 0) yield row.join("\t");
      row = [];
    } else if (token.name === "c" && isOpen) {
      cell = {
        column: columnOf(token.attributes("r")) ?? row.length,
        type: token.attributes("t") ?? "n",
        style: Number(token.attributes("s") ?? 0),
      };
      value = "";
    } else if (token.name === "c" && value !== "" && cell.column < maxColumns) {
      while (row.length < cell.column) row.push("");
      row[cell.column] = cellText(value, cell, context).replace(/\s+/g, " ");
    }
  }
}

/** `C7` is column 2. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? "")?.[0];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function cellText(value: string, cell: { type: string; style: number }, context: CellContext): string {
  if (cell.type === "s") return context.sharedTexts[Number(value)] ?? "";
  if (cell.type === "b") return value === "1" ? "TRUE" : "FALSE";
  if (cell.type !== "n") return value;
  const number = Number(value);
  if (!Number.isFinite(number)) return value;
  if (context.isDate(cell.style)) return dateText(number, context.startsIn1904);
  // Excel stores 0.1 + 0.2 with 17 digits but shows at most 15.
  return String(Number(number.toPrecision(15)));
}
