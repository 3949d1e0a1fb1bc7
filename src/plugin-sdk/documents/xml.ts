/**
 * Reads XML of office files as a sequence of tags and texts. Knows the five built-in entities and character numbers
 * only; document types and their entities are skipped, so a file can't make the parser read other files or expand
 * entities endlessly.
 */

export type XmlToken =
  | { type: "open"; name: string; attributes: XmlAttributes }
  /** Also emitted after the opening tag of an empty element. */
  | { type: "close"; name: string }
  | { type: "text"; text: string };

/** Returns the value of the attribute with this prefixed name (`r:id`). */
export type XmlAttributes = (name: string) => string | undefined;

const tag = /<([^\s/>!?]+)((?:\s+[^\s=/>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/y;
const attribute = /([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** Start and end of markup that is not content. */
const skipped = [
  ["<!--", "-->"],
  ["<?", "?>"],
  ["<!", ">"],
] as const;
const textStart = "<![CDATA[";

/** Strips prefixes from names: `w:p` becomes `p`. Never throws; skips what is not well-formed. */
export function* xmlTokens(xml: string): Generator<XmlToken> {
  let at = 0;
  while (at < xml.length) {
    const next = xml.indexOf("<", at);
    const end = next === -1 ? xml.length : next;
    if (end > at) yield { type: "text", text: decodeEntities(xml.slice(at, end)) };
    if (next === -1) return;
    at = next;
    tag.lastIndex = at;
    const found = tag.exec(xml);
    if (found !== null) {
      const [whole, fullName = "", attributes = "", slash] = found;
      at += whole.length;
      const name = localName(fullName);
      yield { type: "open", name, attributes: (wanted) => attributeOf(attributes, wanted) };
      if (slash === "/") yield { type: "close", name };
    } else if (xml.startsWith("</", at)) {
      const close = endOf(xml, ">", at);
      yield { type: "close", name: localName(xml.slice(at + 2, close - 1).trim()) };
      at = close;
    } else if (xml.startsWith(textStart, at)) {
      const close = endOf(xml, "]]>", at);
      yield { type: "text", text: xml.slice(at + textStart.length, close - 3) };
      at = close;
    } else {
      const [, mark] = skipped.find(([start]) => xml.startsWith(start, at)) ?? [];
      at = mark === undefined ? at + 1 : endOf(xml, mark, at);
    }
  }
}

function endOf(xml: string, mark: string, from: number): number {
  const found = xml.indexOf(mark, from);
  return found === -1 ? xml.length : found + mark.length;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function attributeOf(attributes: string, wanted: string): string | undefined {
  for (const [, name, double, single] of attributes.matchAll(attribute)) {
    if (name === wanted) return decodeEntities(double ?? single ?? "");
  }
  return undefined;
}

const entities = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
]);

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return entities.get(name) ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}
