/**
 * What is wrong with the address of a model service, as far as that can be known before anybody asks it, and the address that
 * was probably meant. An address that says nothing is right, and is tried: its own answer then tells more.
 */
import { shownUrl } from "../lib/fetch-directly.ts";
import { serviceOf } from "./openai-client.ts";

type Protocol = "anthropic" | "openai";

/** Services whose base address people shorten, with the path that OpenAI's protocols have there. */
const ownPaths: readonly (readonly [host: RegExp, path: string])[] = [
  [/(?:^|\.)api\.openai\.com$/, "/v1"],
  [/^api\.groq\.com$/, "/openai/v1"],
  [/^api\.mistral\.ai$/, "/v1"],
  [/(?:^|\.)api\.x\.ai$/, "/v1"],
  [/^openrouter\.ai$/, "/api/v1"],
  [/^generativelanguage\.googleapis\.com$/, "/v1beta/openai"],
];
const see = "see docs/models.md";

/** `setting` is the one that holds the address. Undefined if nothing is known to be wrong. */
export function addressProblem(baseUrl: string, protocol: Protocol, setting: string): string | undefined {
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
    return `${setting} is not an http(s) address: ${shownUrl(baseUrl)}`;
  const foreign = foreignProtocol(baseUrl, protocol);
  if (foreign !== undefined) return `${setting} leads to ${foreign} (${see})`;
  const meant = protocol === "openai" ? meantByOpenAi(new URL(baseUrl)) : meantByAnthropic(new URL(baseUrl));
  return meant === undefined ? undefined : `${setting} is ${shownUrl(baseUrl)}; set it to ${shownUrl(meant)} (${see})`;
}

/** Amazon's and Google's own protocols are not spoken. Other addresses of the same services have ours. */
function foreignProtocol(baseUrl: string, protocol: Protocol): string | undefined {
  const { hostname, origin, pathname } = new URL(baseUrl);
  if (/^bedrock-runtime(?:-fips)?\..*\.amazonaws\.com/.test(hostname)) {
    const path = protocol === "anthropic" ? "/anthropic" : "/openai/v1";
    if (pathname.startsWith(path)) return undefined;
    return `Bedrock's own protocol, which is not spoken; set it to ${origin}${path}`;
  }
  if (!/(?:^|[.-])aiplatform\.googleapis\.com$/.test(hostname)) return undefined;
  if (protocol === "anthropic") return "Vertex, whose protocol for Claude is not spoken; use a gateway";
  if (/\/endpoints\/[^/]+(?:\/chat\/completions)?\/?$/.test(pathname)) return undefined;
  return "Vertex's own protocol, which is not spoken; its path ends with /endpoints/openapi";
}

function meantByOpenAi(url: URL): string | undefined {
  const { hostname, pathname } = url;
  const base = `${origin(url)}${pathname.replace(/\/(?:(?:chat\/)?completions|responses)\/*$/, "")}`;
  const isAzure = serviceOf(url.href) === "azure";
  const [, path] = isAzure ? [hostname, "/openai/v1"] : (ownPaths.find(([host]) => host.test(hostname)) ?? []);
  // Azure's projects have the path behind one of their own.
  if (path !== undefined && !`${new URL(base).pathname}/`.includes(`${path}/`)) return `${origin(url)}${path}`;
  const isWhole = base === `${origin(url)}${pathname}` && url.hash === "" && !(isAzure && url.search !== "");
  return isWhole ? undefined : `${base}${isAzure ? "" : url.search}`;
}

/** The client adds `/v1/messages` to all that is here, so a query would swallow it. */
function meantByAnthropic(url: URL): string | undefined {
  const base = `${origin(url)}${url.pathname.replace(/\/v1(?:\/messages)?\/*$/, "")}`;
  const isWhole = base === `${origin(url)}${url.pathname}` && url.search === "" && url.hash === "";
  return isWhole ? undefined : base.replace(/\/$/, "");
}

/** With a name and password, if there are some. */
function origin({ protocol, username, password, host }: URL): string {
  const person = username === "" ? "" : `${username}${password === "" ? "" : `:${password}`}@`;
  return `${protocol}//${person}${host}`;
}
