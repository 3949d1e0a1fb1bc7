/** What pages are made of, as far as it is needed here, and what is read from single parts of them. */

/** As much of the DOM as is needed here; linkedom has no types of its own that hold without a browser's. */
export interface PageNode {
  nodeType: number;
  localName?: string;
  textContent: string | null;
  childNodes: Iterable<PageNode>;
  getAttribute?(name: string): string | null;
}

export const nodeTypes = { element: 1, text: 3 };

/** Elements that hold nothing to read. */
export const skipped = new Set(
  "script style noscript template svg math iframe object embed head canvas audio video select textarea input button dialog".split(
    " ",
  ),
);
/** The http(s) address that a link leads to, without its fragment. */
export function addressOf(href: string | null | undefined, base: string): string | undefined {
  const url = typeof href === "string" ? URL.parse(href.trim(), base) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  url.hash = "";
  return url.href;
}

/** Bidirectional controls, zero-width spaces and tag characters: nobody sees them, and they can carry orders to a model. */
export function withoutInvisible(written: string): string {
  return written.replace(/[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu, "");
}

/** Without recursion: what is nested too deep for anything else ends up here. */
export function textOf(root: PageNode): string {
  const open = [root];
  let found = "";
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.nodeType === nodeTypes.text) found += node.textContent ?? "";
    else if (!skipped.has(node.localName ?? "")) for (const child of [...node.childNodes].reverse()) open.push(child);
  }
  return found;
}

/** By its own attributes; style sheets are not read. */
export function isHidden(node: PageNode): boolean {
  const attribute = (name: string) => node.getAttribute?.(name) ?? null;
  if (attribute("hidden") !== null || attribute("aria-hidden") === "true") return true;
  return /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])/i.test(attribute("style") ?? "");
}
