/**
 * `web_fetch` and `web_fetch_any` return a part of a page as text. They check what the address would reveal to its host
 * (disclosure.ts), download the page, read it in an isolated process, and cache it for a few minutes.
 */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import { formatNumber } from "../../src/plugin-sdk/format-number.ts";
import type { JsonObject, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { decodeText } from "./decode.ts";
import type { Disclosure } from "./disclosure.ts";
import { type Download, download } from "./download.ts";
import { type Kind, kindOf } from "./kinds.ts";
import type { Page } from "./page.ts";
import { addressOf } from "./page-node.ts";
import type { PageReader } from "./read-page.ts";
import { readSettings, type WebSettings } from "./settings.ts";
import { type Resolve, readUrl } from "./target.ts";

interface Document {
  heading: string;
  notes: string[];
  text: string;
}

export interface FetchOptions {
  resolve: Resolve;
  reader: PageReader;
  disclosure: Disclosure;
  now(): number;
}

const usualCharacters = 15_000;
const cacheMs = 5 * 60_000;
const kept = { documents: 12, characters: 4_000_000 };
const maxAddressesInText = 2_000;
const maxFailureCharacters = 1_500;

export function createFetch(options: FetchOptions) {
  const { disclosure, now } = options;
  const documents = new Map<string, { document: Document; at: number }>();
  const keep = (key: string, document: Document) => {
    documents.delete(key);
    documents.set(key, { document, at: now() });
    let [count, characters] = [0, 0];
    for (const [
      other,
      {
        document: { text },
        at,
      },
    ] of [...documents].reverse()) {
      count += 1;
      characters += text.length;
      const isOld = now() - at >= cacheMs;
      if (isOld || count > kept.documents || characters > kept.characters) documents.delete(other);
    }
  };

  return async function fetchPage(input: JsonObject, context: PluginContext, takesAny: boolean): Promise<PluginResult> {
    const settings = readSettings(context.config);
    const url = readUrl(typeof input.url === "string" ? input.url : "");
    const form = input.raw === true ? "raw" : input.whole === true ? "whole" : "main";
    const objection = takesAny ? undefined : disclosure.objection(context, url);
    if (objection !== undefined) return failure(objectionText(url, objection));
    const key = `${context.conversationId}\n${form}\n${url.href}`;
    const known = documents.get(key);
    const isFresh = known !== undefined && now() - known.at < cacheMs;
    const exhausted = isFresh ? undefined : disclosure.exhaustion(context);
    if (exhausted !== undefined) return failure(exhausted);
    const document = isFresh ? known.document : await fetchDocument(url, form, { ...options, settings }, context);
    if ("success" in document) return document;
    if (!isFresh) keep(key, document);
    return partOf(document, numberOr(input.offset, 0), numberOr(input.max_characters, usualCharacters));
  };
}

async function fetchDocument(
  url: URL,
  form: "main" | "whole" | "raw",
  { settings, resolve, reader, disclosure }: FetchOptions & { settings: WebSettings },
  { conversationId, signal }: PluginContext,
): Promise<Document | Exclude<PluginResult, string>> {
  const wants = (contentType: string) => kindOf(contentType, undefined).type !== "other";
  const got = await download(url, { settings, resolve, wants }, signal);
  const kind = kindOf(got.contentType, got.body);
  if (got.status < 200 || got.status > 299) return refused(got, kind);
  if (kind.type === "other") return failure(otherText(got, kind.name));
  const where = got.url.href === url.href ? url.href : `${got.url.href} (redirected from ${url.href})`;
  const cut = got.isCut ? [`only the first ${formatBytes(got.body.length)} were read`] : [];
  disclosure.show(conversationId, [got.url.href]);
  if (form === "raw" || kind.type === "text") {
    const text = decodeText(got.body, got.contentType);
    disclosure.show(conversationId, addressesIn(text, got.url.href));
    return { heading: `<${where}>`, notes: cut, text };
  }
  const { body, contentType } = got;
  const page = await reader.read({ body, contentType, url: got.url.href, isWhole: form === "whole" }, signal);
  if ("bareText" in page) {
    const notes = [...cut, `it could not be parsed as a page (${page.why}), so this is its plain text`];
    return { heading: `<${where}>`, notes, text: page.bareText };
  }
  disclosure.show(conversationId, page.links);
  return { heading: headingOf(page, where), notes: [...cut, ...notesOn(page, form)], text: page.markdown };
}

function headingOf({ title, byline, site, published }: Page, where: string): string {
  const facts = [byline === "" ? "" : `by ${byline}`, site, published].filter((fact) => fact !== "");
  return [
    ...(title === "" ? [] : [`# ${title}`]),
    `<${where}>`,
    ...(facts.length === 0 ? [] : [facts.join(", ")]),
  ].join("\n");
}

function notesOn({ markdown, part }: Page, form: "main" | "whole"): string[] {
  if (markdown === "") return ["it has no readable text: scripts may create it, and they do not run here"];
  return form === "main" && part === "whole page" ? ["no main text was found, so this is the whole page"] : [];
}

/** Throws if the status is transient, with the wait that the server asked for. */
function refused(got: Download, kind: Kind): Exclude<PluginResult, string> {
  const { status, url, retryAfterMs } = got;
  const message = `${url.href} answered with status ${status}${meaningOf(status)}.`;
  if (status === 429 || (status >= 500 && status !== 501)) {
    const later = retryAfterMs === undefined ? {} : { retryAfterMs };
    throw new RemoraError({ code: "web.status", place: url.origin, message, isRetryable: true, ...later });
  }
  const text =
    kind.type === "text" ? decodeText(got.body, got.contentType).slice(0, maxFailureCharacters).toWellFormed() : "";
  return failure([message, text].filter((part) => part !== "").join("\n\n"));
}

function meaningOf(status: number): string {
  switch (status) {
    case 401:
    case 407:
      return " (it requires a login, and fetches never send credentials)";
    case 403:
      return " (forbidden: it may exclude programs)";
    case 404:
    case 410:
      return " (the page does not exist: check the address, or search for it)";
    case 429:
      return " (too many requests)";
    default:
      return status >= 500 ? " (the server failed)" : "";
  }
}

function otherText({ url, contentLength }: Download, name: string): string {
  const size = contentLength === undefined || !Number.isFinite(contentLength) ? "" : `, ${formatBytes(contentLength)}`;
  return `${url.href} is ${name}${size}: only pages and text can be read here. Find a page with the same content, or give the person the link.`;
}

function objectionText({ origin }: URL, objection: string): string {
  return `Not fetched: the address at ${origin} ${objection}, and no page or search of this conversation has shown it. If it came from the person or is really needed, use web_fetch_any, which may ask a person.`;
}

function partOf({ heading, notes, text }: Document, offset: number, most: number): PluginResult {
  if (offset > 0 && offset >= text.length) {
    return failure(
      `${heading}\n\nThe text has ${formatNumber(text.length)} characters, so offset ${formatNumber(offset)} is past its end.`,
    );
  }
  const end = Math.min(text.length, offset + most);
  const isWhole = offset === 0 && end === text.length;
  const more = end < text.length ? `; continue with offset ${end}` : "";
  const range = isWhole
    ? []
    : [`characters ${formatNumber(offset)} to ${formatNumber(end)} of ${formatNumber(text.length)}${more}`];
  const about = [...range, ...notes].map((note) => `(${note})`);
  return [heading, ...about, "", text.slice(offset, end).toWellFormed()].join("\n").trimEnd();
}

function addressesIn(text: string, base: string): string[] {
  const written = [...text.matchAll(/https?:\/\/[^\s<>"'`\\^{}|]{1,2000}/g)].slice(0, maxAddressesInText);
  return written.flatMap(([address]) =>
    [address, address.replace(/[).,;:!?\]]+$/, "")].flatMap((one) => addressOf(one, base) ?? []),
  );
}

function numberOr(value: unknown, usual: number): number {
  return typeof value === "number" ? Math.floor(value) : usual;
}
