/** The search providers. They may be in a private network, because the operator chooses them. */
import { z } from "zod";

export interface SearchResult {
  title: string;
  url: string;
  text: string;
  date: string;
}

export interface SearchRequest {
  url: URL;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
}

export interface SearchProvider {
  usualUrl: string | undefined;
  needsKey: boolean;
  request(query: { text: string; count: number; page: number; base: string; key: string }): SearchRequest;
  /** Throws a ZodError if the answer is invalid. */
  results(answer: unknown): SearchResult[];
  refusalHint: string;
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");

const searxngAnswer = z.object({
  results: z.array(z.object({ title: text, url: z.string(), content: text, publishedDate: text })),
});
const searxng: SearchProvider = {
  usualUrl: undefined,
  needsKey: false,
  request({ text: query, page, base, key }) {
    const url = below(base, "search");
    for (const [name, value] of Object.entries({ q: query, format: "json", pageno: String(page) })) {
      url.searchParams.set(name, value);
    }
    const headers = { accept: "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }) };
    return { url, method: "GET", headers };
  },
  results: (answer) =>
    searxngAnswer.parse(answer).results.map(({ title, url, content, publishedDate }) => ({
      ...{ title, url, text: content, date: publishedDate },
    })),
  refusalHint: "the instance must list json below search.formats in its settings.yml and admit this machine",
};

const braveAnswer = z.object({
  web: z
    .object({ results: z.array(z.object({ title: text, url: z.string(), description: text, age: text })) })
    .nullish(),
});
const brave: SearchProvider = {
  usualUrl: "https://api.search.brave.com",
  needsKey: true,
  request({ text: query, count, page, base, key }) {
    const url = below(base, "res/v1/web/search");
    const wanted = { q: query, count: String(count), offset: String(page - 1), text_decorations: "false" };
    for (const [name, value] of Object.entries(wanted)) url.searchParams.set(name, value);
    return { url, method: "GET", headers: { accept: "application/json", "x-subscription-token": key } };
  },
  results: (answer) =>
    (braveAnswer.parse(answer).web?.results ?? []).map(({ title, url, description, age }) => ({
      ...{ title, url, text: description, date: age },
    })),
  refusalHint: "the key must be a valid one of the Brave Search API",
};

const tavilyAnswer = z.object({
  results: z.array(z.object({ title: text, url: z.string(), content: text, published_date: text })),
});
const tavily: SearchProvider = {
  usualUrl: "https://api.tavily.com",
  needsKey: true,
  request({ text: query, count, page, base, key }) {
    // This API has no pages, so request the earlier results too and drop them.
    const body = JSON.stringify({ query, max_results: Math.min(20, count * page), search_depth: "basic" });
    const headers = { "content-type": "application/json", accept: "application/json", authorization: `Bearer ${key}` };
    return { url: below(base, "search"), method: "POST", headers, body };
  },
  results: (answer) =>
    tavilyAnswer.parse(answer).results.map(({ title, url, content, published_date }) => ({
      ...{ title, url, text: content, date: published_date },
    })),
  refusalHint: "the key must be a valid one of Tavily",
};

export const searchProviders = { searxng, brave, tavily };

function below(base: string, path: string): URL {
  return new URL(path, base.endsWith("/") ? base : `${base}/`);
}
