/** Tells which cells of a workbook show their number as a date or time. ECMA-376 part 1, 18.8.30 lists the built-in formats. */
import { xmlTokens } from "./xml.ts";

const builtInDates = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);
const dayMs = 86_400_000;

/** Parses a workbook's styles. The returned function tells whether a style number stands for a date or time. */
export function cellFormats(styles: string): (style: number) => boolean {
  const ownDates = new Set<number>();
  const formats: number[] = [];
  let isInCells = false;
  for (const token of xmlTokens(styles)) {
    if (token.type === "text") continue;
    if (token.name === "cellXfs") isInCells = token.type === "open";
    if (token.type !== "open") continue;
    const id = Number(token.attributes("numFmtId") ?? 0);
    if (token.name === "numFmt" && isDateFormat(token.attributes("formatCode") ?? "")) ownDates.add(id);
    if (token.name === "xf" && isInCells) formats.push(id);
  }
  return (style) => {
    const format = formats[style] ?? 0;
    return builtInDates.has(format) || ownDates.has(format);
  };
}

/** Looks for letters of dates and times outside quoted text, colors and conditions. */
function isDateFormat(code: string): boolean {
  const bare = code.replace(/"[^"]*"|\\.|_.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "");
  return /[ymdhs]/i.test(bare) && !/general/i.test(bare);
}

/** `2026-03-01`, `2026-03-01 14:30:00`, or `14:30:00` for times without a day. */
export function dateText(days: number, startsIn1904: boolean): string {
  // Excel counts 29 February 1900, which did not exist, so earlier dates need another epoch.
  const epoch = startsIn1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30);
  const time = new Date(epoch + Math.round(days * 86_400) * 1_000);
  if (days < 0 || Number.isNaN(time.getTime()) || time.getTime() - epoch > 3_000_000 * dayMs) return String(days);
  const [date = "", clock = ""] = time.toISOString().slice(0, 19).split("T");
  if (days < 1) return clock;
  return clock === "00:00:00" ? date : `${date} ${clock}`;
}
