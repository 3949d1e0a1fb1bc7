/** The part of the DOM that this skill needs, and helpers for single nodes. */

/** Declared here because linkedom's own types need TypeScript's DOM library. */
export interface PageNode {
  nodeType: number;
  localName?: string;
  textContent: string | null;
  childNodes: Iterable<PageNode>;
  getAttribute?(name: string): string | null;
}

export const nodeTypes = { element: 1, text: 3 };

export const skipped = new Set(
  "script style noscript template svg math iframe object embed head canvas audio video select textarea input button dialog".split(
    " ",
  ),
);
/** Returns the http or https target of a link without its fragment, or undefined for any other link. */
export function addressOf(href: string | null | undefined, base: string): string | undefined {
  const url = typeof href === "string" ? URL.parse(href.trim(), base) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  url.hash = "";
  return url.href;
}

/** Removes characters that people can't see but that can carry instructions for a model. */
export function withoutInvisible(written: string): string {
  return written.replace(/[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu, "");
}

/** Collects the text of a node. Not recursive, because pages may be nested very deeply. */
export function textOf(root: PageNode): string {
  const open = [root];
  let found = "";
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.nodeType === nodeTypes.text) found += node.textContent ?? "";
    else if (!skipped.has(node.localName ?? "")) for (const child of [...node.childNodes].reverse()) open.push(child);
  }
  return found;
}

/** Checks only the node's own attributes, not style sheets. */
export function isHidden(node: PageNode): boolean {
  const attribute = (name: string) => node.getAttribute?.(name) ?? null;
  if (attribute("hidden") !== null || attribute("aria-hidden") === "true") return true;
  return /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])/i.test(attribute("style") ?? "");
}
