/** `web_search` queries the configured provider and returns titles, addresses and snippets. */
import { messageOf, RemoraError } from "../../src/plugin-sdk/errors.ts";
import type { JsonObject, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import type { Disclosure } from "./disclosure.ts";
import { maxBytes, retryAfterOf } from "./download.ts";
import { addressOf, withoutInvisible } from "./page-node.ts";
import { type SearchProvider, type SearchRequest, type SearchResult, searchProviders } from "./search-providers.ts";
import { readSettings, type SearchSettings } from "./settings.ts";

const usualCount = 8;
const shown = { title: 150, text: 400 };
const timeoutMs = 15_000;

const howToConfigure =
  "No search provider is configured here. An operator can set one below skills.settings.web.search in config/remora.yaml: provider searxng with the url of an instance, or brave or tavily with an apiKey. Until then, fetch known addresses with web_fetch, or ask the person for a link.";

export async function search(input: JsonObject, context: PluginContext, disclosure: Disclosure): Promise<PluginResult> {
  const { search: settings } = readSettings(context.config);
  if (settings.provider === "none") return { success: false, output: "", error: howToConfigure };
  const text = typeof input.query === "string" ? input.query.trim() : "";
  if (text === "") throw problem("query", "is empty: say what to search for");
  const count = typeof input.count === "number" ? input.count : usualCount;
  const provider: SearchProvider = searchProviders[settings.provider];
  const { base, key } = accessOf(settings, provider);
  const request = provider.request({ text, count, page: 1, base, key });
  const answer = await ask(request, settings.provider, provider, context.signal);
  const results = readable(provider, answer, settings.provider).slice(0, count);
  disclosure.show(
    context.conversationId,
    results.map(({ url }) => url),
  );
  if (results.length === 0) return `No results for "${text}". Other words may find more.`;
  return results
    .map(lineOf)
    .join("\n\n")
    .replaceAll(key === "" ? "\0" : key, "[redacted]");
}

function accessOf(settings: SearchSettings, { usualUrl, needsKey }: SearchProvider): { base: string; key: string } {
  const base = settings.url ?? usualUrl;
  const place = "skills.settings.web.search";
  if (base === undefined)
    throw problem(`${place}.url`, `is missing: an operator must set the address of ${settings.provider}`);
  if (needsKey && settings.apiKey === undefined) {
    throw problem(`${place}.apiKey`, `is missing: an operator must set the key of ${settings.provider}`);
  }
  return { base, key: settings.apiKey ?? "" };
}

async function ask(
  { url, ...options }: SearchRequest,
  name: string,
  { refusalHint }: SearchProvider,
  signal: AbortSignal,
): Promise<unknown> {
  const late = AbortSignal.timeout(timeoutMs);
  try {
    // Do not follow redirects, because they could send the API key to another host.
    const response = await fetch(url, { ...options, redirect: "manual", signal: AbortSignal.any([signal, late]) });
    if (!response.ok) throw await refusal(response, name, refusalHint);
    return JSON.parse(await bodyOf(response));
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof RemoraError) throw thrown;
    if (thrown instanceof SyntaxError) throw problem(name, "gave an answer that is not JSON");
    const why = late.aborted ? `did not answer within ${timeoutMs / 1000} s` : `can't be reached (${causeOf(thrown)})`;
    throw new RemoraError({ code: "web.search", place: name, message: why, isRetryable: !late.aborted, cause: thrown });
  }
}

async function refusal(response: Response, name: string, hint: string): Promise<RemoraError> {
  await response.body?.cancel();
  const { status } = response;
  if (status === 429 || status >= 500) {
    const retryAfterMs = retryAfterOf(response.headers.get("retry-after") ?? undefined);
    const later = retryAfterMs === undefined ? {} : { retryAfterMs };
    const message = status === 429 ? "has reached its rate limit" : `failed with status ${status}`;
    return new RemoraError({ code: "web.search", place: name, message, isRetryable: true, ...later });
  }
  if (status === 401 || status === 403) return problem(name, `refused the search (status ${status}): ${hint}`);
  if (status >= 300 && status < 400) {
    return problem(name, "redirects: an operator must set the final address as skills.settings.web.search.url");
  }
  return problem(name, `refused the search with status ${status}`);
}

async function bodyOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new SyntaxError("too long");
  }
  return Buffer.concat(chunks).toString();
}

function readable(provider: SearchProvider, answer: unknown, name: string): SearchResult[] {
  try {
    // Omit results that can't be fetched or whose address is incomplete.
    return provider.results(answer).flatMap((result) => {
      const url = addressOf(result.url, result.url);
      return url === undefined ? [] : [{ ...result, url }];
    });
  } catch {
    throw problem(name, "gave an answer without a list of results: check skills.settings.web.search");
  }
}

function lineOf({ title, url, text, date }: SearchResult, index: number): string {
  const about = plain(text, shown.text);
  const line = `${index + 1}. ${plain(title, shown.title) || url}${date === "" ? "" : ` (${plain(date, 40)})`}\n   ${url}`;
  return about === "" ? line : `${line}\n   ${about}`;
}

const entities = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["#39", "'"],
  ["#x27", "'"],
  ["nbsp", " "],
]);

function plain(written: string, most: number): string {
  const clean = withoutInvisible(written)
    .replace(/<\/?[a-z][^<>]{0,100}>/gi, "")
    .replace(/&(\w+|#\w+);/g, (entity, name: string) => entities.get(name.toLowerCase()) ?? entity)
    .replace(/\s+/g, " ")
    .trim();
  return clean.length > most ? `${clean.slice(0, most).toWellFormed()}…` : clean;
}

function causeOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.cause !== undefined
    ? messageOf(thrown.cause) || thrown.message
    : messageOf(thrown);
}

function problem(place: string, message: string): RemoraError {
  return new RemoraError({ code: "web.search", place, message });
}
