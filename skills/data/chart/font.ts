/** Reads character widths from a TrueType or OpenType file, or from the first font of a collection. */

export interface Font {
  /** Relative to the font size. Returns undefined for a character that the font lacks. */
  widthOf(codePoint: number): number | undefined;
}

/** Throws a RangeError if the file is not a supported font. */
export function readFont(bytes: Uint8Array): Font {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tables = tablesOf(view);
  const table = (name: string) => {
    const offset = tables.get(name);
    if (offset === undefined) throw new RangeError(`the font has no table ${name}`);
    return offset;
  };
  const unitsPerEm = view.getUint16(table("head") + 18);
  const metrics = view.getUint16(table("hhea") + 34);
  const hmtx = table("hmtx");
  const glyphOf = characterMap(view, table("cmap"));
  return {
    widthOf(codePoint) {
      const glyph = glyphOf(codePoint);
      if (glyph === 0) return undefined;
      return view.getUint16(hmtx + 4 * Math.min(glyph, metrics - 1)) / unitsPerEm;
    },
  };
}

function tablesOf(view: DataView): Map<string, number> {
  const isCollection = tagAt(view, 0) === "ttcf";
  const start = isCollection ? view.getUint32(12) : 0;
  const tables = new Map<string, number>();
  for (let index = 0; index < view.getUint16(start + 4); index += 1) {
    const record = start + 12 + 16 * index;
    tables.set(tagAt(view, record), view.getUint32(record + 8));
  }
  return tables;
}

function tagAt(view: DataView, offset: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(offset + index)));
}

/** Maps a code point to a glyph; 0 means missing. Format 12 covers all of Unicode, format 4 only the first plane. */
function characterMap(view: DataView, cmap: number): (codePoint: number) => number {
  const found = new Map<number, number>();
  for (let index = 0; index < view.getUint16(cmap + 2); index += 1) {
    const record = cmap + 4 + 8 * index;
    const platform = view.getUint16(record);
    const at = cmap + view.getUint32(record + 4);
    if (platform === 0 || platform === 3) found.set(view.getUint16(at), at);
  }
  const [all, first] = [found.get(12), found.get(4)];
  if (all !== undefined) return (codePoint) => glyphInGroups(view, all, codePoint);
  if (first !== undefined) return (codePoint) => (codePoint > 0xffff ? 0 : glyphInSegments(view, first, codePoint));
  throw new RangeError("the font has no readable character map");
}

function glyphInGroups(view: DataView, at: number, codePoint: number): number {
  let [low, high] = [0, view.getUint32(at + 12) - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const group = at + 16 + 12 * middle;
    const [start, end] = [view.getUint32(group), view.getUint32(group + 4)];
    if (codePoint < start) high = middle - 1;
    else if (codePoint > end) low = middle + 1;
    else return view.getUint32(group + 8) + codePoint - start;
  }
  return 0;
}

function glyphInSegments(view: DataView, at: number, codePoint: number): number {
  const doubled = view.getUint16(at + 6);
  const [ends, starts, deltas, offsets] = [at + 14, at + 16 + doubled, at + 16 + 2 * doubled, at + 16 + 3 * doubled];
  for (let segment = 0; segment < doubled; segment += 2) {
    if (view.getUint16(ends + segment) < codePoint) continue;
    const start = view.getUint16(starts + segment);
    if (start > codePoint) return 0;
    const delta = view.getUint16(deltas + segment);
    const offset = view.getUint16(offsets + segment);
    if (offset === 0) return (codePoint + delta) & 0xffff;
    const glyph = view.getUint16(offsets + segment + offset + 2 * (codePoint - start));
    return glyph === 0 ? 0 : (glyph + delta) & 0xffff;
  }
  return 0;
}
