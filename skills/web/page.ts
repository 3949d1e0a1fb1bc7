/**
 * Turns a downloaded HTML page into text: the main text (Readability), or the complete page on request or if there is
 * no main text. Runs in an isolated process, because anybody can write a page that takes forever to parse.
 */
import { Readability } from "@mozilla/readability";
// The same code in one file: the package's 190 modules took most of the start.
import { parseHTML } from "linkedom/worker";
import { decodeText } from "./decode.ts";
import { toMarkdown } from "./markdown.ts";
import { addressOf, isHidden, nodeTypes, type PageNode, withoutInvisible } from "./page-node.ts";

export interface PageRequest {
  body: Uint8Array;
  contentType: string;
  url: string;
  isWhole: boolean;
}

export interface Page {
  title: string;
  byline: string;
  site: string;
  published: string;
  markdown: string;
  links: string[];
  part: "main text" | "whole page";
}

/** Limits for Readability, which is slow on many elements and deep nesting. Pages beyond them are returned in full. */
const readable = { elements: 60_000, depth: 300 };

interface PageElement extends PageNode {
  append(node: PageNode): void;
  remove(): void;
}

interface PageDocument extends PageNode {
  title: string;
  head: PageElement;
  body: PageElement;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

const maxLinks = 3_000;
const maxMarkdown = 2_000_000;
/** In characters. A shorter main text on a much longer page is probably a teaser or a list entry. */
const shortText = 600;

export function readPage({ body, contentType, url, isWhole }: PageRequest): Page {
  const document = parse(decodeText(body, contentType));
  removeHidden(document);
  const base = addressOf(document.querySelector("base[href]")?.getAttribute?.("href"), url) ?? url;
  const links = linksOf(document, base);
  const meta = (...names: string[]) => metaOf(document, names);
  const about = {
    title: clean(document.title) || meta("og:title"),
    byline: meta("author", "article:author"),
    site: meta("og:site_name"),
    published: meta("article:published_time", "date", "dc.date"),
    links,
  };
  const description = meta("description", "og:description");
  const whole = toMarkdown(document.body, base);
  const main = isWhole ? undefined : mainText(document, base);
  if (main !== undefined && !isTeaser(main.markdown, whole)) {
    const { title, byline, site, published, markdown } = main;
    const better = { title: title || about.title, byline: byline || about.byline, site: site || about.site };
    return { ...about, ...better, published: published || about.published, markdown: cut(markdown), part: "main text" };
  }
  return { ...about, markdown: cut(whole || description), part: "whole page" };
}

/** Inserts the page into a new document, because linkedom does not repair a page without html and body elements. */
function parse(html: string): PageDocument {
  const document = parseHTML("<html><head></head><body></body></html>").document as unknown as PageDocument;
  distribute(parseHTML(html).document as unknown as PageNode, document);
  return document;
}

const ofHead = new Set(["title", "meta", "base", "link"]);

function distribute(written: PageNode, { head, body }: PageDocument): void {
  const open: PageNode[] = [...written.childNodes].reverse();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const name = node.localName ?? "";
    if (name === "html" || name === "body" || name === "head")
      for (const child of [...node.childNodes].reverse()) open.push(child);
    else if (node.nodeType === nodeTypes.element || node.nodeType === nodeTypes.text)
      (ofHead.has(name) ? head : body).append(node);
  }
}

/** Must run before Readability removes the styles that hide elements. */
function removeHidden(document: PageDocument): void {
  for (const node of [...document.querySelectorAll("[hidden], [aria-hidden], [style]")])
    if (isHidden(node)) node.remove();
}

function mainText(document: PageDocument, base: string) {
  if (isTooLarge(document)) return undefined;
  const found = new Readability<PageNode>(document as never, {
    serializer: (node) => node as unknown as PageNode,
  }).parse();
  if (!found?.content) return undefined;
  return {
    title: clean(found.title),
    byline: clean(found.byline),
    site: clean(found.siteName),
    published: clean(found.publishedTime),
    markdown: toMarkdown(found.content, base),
  };
}

/** Not recursive, because a page may be nested a hundred thousand levels deep. */
function isTooLarge(document: PageDocument): boolean {
  const open: { node: PageNode; depth: number }[] = [{ node: document, depth: 0 }];
  let elements = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    elements += 1;
    if (elements > readable.elements || next.depth > readable.depth) return true;
    for (const node of next.node.childNodes)
      if (node.nodeType === nodeTypes.element) open.push({ node, depth: next.depth + 1 });
  }
  return false;
}

function isTeaser(main: string, whole: string): boolean {
  return main === "" || (main.length < shortText && whole.length > 3 * main.length);
}

function linksOf(document: PageDocument, base: string): string[] {
  const links = new Set<string>();
  for (const link of document.querySelectorAll("a[href], area[href]")) {
    const address = addressOf(link.getAttribute?.("href"), base);
    if (address !== undefined && address.length <= 2_000) links.add(address);
    if (links.size === maxLinks) break;
  }
  return [...links];
}

function metaOf(document: PageDocument, names: readonly string[]): string {
  for (const name of names) {
    const found = document.querySelector(`meta[name="${name}" i], meta[property="${name}" i]`);
    const content = clean(found?.getAttribute?.("content"));
    if (content !== "") return content;
  }
  return "";
}

function clean(written: string | null | undefined): string {
  return withoutInvisible(written ?? "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 300);
}

function cut(markdown: string): string {
  return markdown.slice(0, maxMarkdown).toWellFormed();
}
