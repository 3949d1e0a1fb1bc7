/**
 * Reads a canvas, which Slack gives as an HTML page, as Markdown, and tells such pages from Slack's sign-in page. There is no
 * method that reads a canvas: https://docs.slack.dev/surfaces/canvases
 */

const unseen = /<(script|style|head|template|noscript|svg)\b[^<>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi;
const maxHeadBytes = 64 * 1024;
const maxCanvasBytes = 20 * 1024 * 1024;
const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Its title names Slack, and it asks people to sign in, in any language: its form or its address says so. */
export function isSignInPage(html: string): boolean {
  const [, title = ""] = /<title[^<>]*>([^<]*)<\/title>/i.exec(html) ?? [];
  return /\bslack\b/i.test(title) && /sign[-_\s]?in|log[-_\s]?in|[?&]redir=/i.test(html);
}

/** The beginning of a body, and all of it. */
export async function peeked(body: AsyncIterable<Uint8Array>) {
  const chunks = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let length = 0;
  while (length < maxHeadBytes) {
    const { value, done } = await chunks.next();
    if (done === true) break;
    read.push(value);
    length += value.byteLength;
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    try {
      yield* read;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  }
  return { head: Buffer.concat(read).toString("utf8"), whole: whole() };
}

export async function* canvasText(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.byteLength;
    if (length > maxCanvasBytes) break;
    parts.push(part);
  }
  const cut = length > maxCanvasBytes ? "\n\n[The canvas is longer; the rest is missing here.]\n" : "";
  yield Buffer.from(`${markdownOf(Buffer.concat(parts).toString("utf8"))}\n${cut}`);
}

export function markdownOf(html: string): string {
  const marked = html
    .replace(/<!--[\s\S]*?(?:-->|$)/g, "")
    .replace(unseen, "")
    .replace(/\s+/g, " ")
    .split(/(<[^<>]*>)/)
    .reduce(createWriter(), "");
  return decoded(marked)
    .replace(/[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** Tags become line ends, marks and addresses; all text stays. */
function createWriter(): (text: string, part: string) => string {
  const lists: { isOrdered: boolean; count: number }[] = [];
  const links: string[] = [];

  function opening(name: string, attributes: string): string {
    if (/^h[1-6]$/.test(name)) return `\n\n${"#".repeat(Number(name[1]))} `;
    if (name === "ul" || name === "ol") lists.push({ isOrdered: name === "ol", count: 0 });
    if (name === "li") return item(attributes);
    if (name === "a") links.push(attributeIn(attributes, "href"));
    if (name === "img") return `[image: ${attributeIn(attributes, "alt") || attributeIn(attributes, "src")}]`;
    if (name === "input") return /\bchecked\b/i.test(attributes) ? "[x] " : /checkbox/i.test(attributes) ? "[ ] " : "";
    if (name === "td" || name === "th") return "| ";
    return (
      { br: "\n", hr: "\n---\n", p: "\n", div: "\n", tr: "\n", blockquote: "\n> ", pre: "\n", section: "\n" }[name] ??
      ""
    );
  }

  function item(attributes: string): string {
    const list = lists.at(-1);
    if (list !== undefined) list.count += 1;
    const mark = list?.isOrdered === true ? `${list.count}.` : "-";
    const isChecked = /class\s*=\s*["'][^"']*\bchecked\b/i.test(attributes);
    return `\n${"  ".repeat(Math.max(0, lists.length - 1))}${mark} ${isChecked ? "[x] " : ""}`;
  }

  function closing(name: string): string {
    if (name === "ul" || name === "ol") lists.pop();
    if (name === "a") {
      const href = links.pop() ?? "";
      return href === "" ? "" : ` (${href})`;
    }
    if (name === "td" || name === "th") return " ";
    return /^(?:h[1-6]|p|div|ul|ol|table|pre|blockquote|section)$/.test(name) ? "\n" : "";
  }

  return (text, part) => {
    const [, slash, name = "", attributes = ""] = /^<(\/?)([a-z][a-z0-9]*)([^<>]*)>$/i.exec(part) ?? [];
    if (slash === undefined) return text + (/^<[!?]/.test(part) ? "" : text.endsWith("\n") ? part.trimStart() : part);
    return text + (slash === "" ? opening(name.toLowerCase(), attributes) : closing(name.toLowerCase()));
  };
}

function attributeIn(attributes: string, name: string): string {
  const [, one, other] = new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "i").exec(attributes) ?? [];
  return (one ?? other ?? "").trim();
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    if (name !== undefined) return named[name.toLowerCase()] ?? whole;
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}
