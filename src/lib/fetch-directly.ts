/**
 * `fetch` for addresses that settings or a service name. It follows no redirect, not even on the same host: where it leads is nobody's
 * choice here, and it would get what was meant for the address, such as a prompt, a recording or a token in a header of its own.
 */
import { RemoraError } from "./errors.ts";

/** Rejects with a RemoraError, `http.redirect`, that names where the answer leads. */
export async function fetchDirectly(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: "manual" });
  const address = new URL(input instanceof Request ? input.url : input);
  const target = redirectOf(response, address.href);
  if (target === undefined) return response;
  await response.body?.cancel();
  throw new RemoraError({
    code: "http.redirect",
    place: address.host,
    message: `redirects to ${shownUrl(target)} (${response.status}), which is not followed. If that is the right address, set it instead`,
  });
}

/** Where a response leads, however the address is written; undefined if it is no redirect. */
export function redirectOf({ status, headers }: Response, address: string): string | undefined {
  const location = headers.get("location");
  if (status < 300 || status > 399 || location === null) return undefined;
  return URL.parse(location, address)?.href ?? location;
}

/** Hides a password and keys in the address, because a channel may show it. */
export function shownUrl(url: string): string {
  return url.replace(/[?#].+$/s, "?…").replace(/\/\/[^/@\s]*@/, "//…@");
}
