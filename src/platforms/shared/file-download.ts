/** Downloads files, which Slack and Discord both serve over plain HTTPS. */
import { RemoraError } from "../../lib/errors.ts";
import { platformError } from "./platform-error.ts";

/** Follows no redirects, because they could lead to a sign-in page or another host. */
export function requestFile(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  return fetch(url, { headers, redirect: "manual", signal });
}

/** Returns the body as a stream, or throws if the service failed. The caller must handle refusals first. */
export function streamOf(platform: string, response: Response): AsyncIterable<Uint8Array> {
  if (response.ok && response.body !== null) return response.body;
  void response.body?.cancel().catch(() => {});
  const seconds = Number(response.headers.get("retry-after"));
  throw new RemoraError({
    code: "platform.file-failed",
    place: `platform ${platform}`,
    message: `the service answered with HTTP ${response.status}`,
    isRetryable: response.status >= 500 || response.status === 429,
    ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
  });
}

/** `apiUrl` is another address of the service, which may also serve its files. */
export function isStoredThere(url: string, apiUrl: string | undefined, isHost: (name: string) => boolean): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, host } = new URL(url);
  if (apiUrl !== undefined && host === new URL(apiUrl).host) return true;
  return protocol === "https:" && isHost(hostname);
}

export function isRefused({ status }: Response): boolean {
  return status >= 300 && status < 500 && status !== 429;
}

export function deletedFile(platform: string): RemoraError {
  return platformError(platform, "file-deleted", "the file was deleted, or I can't see it any more. Send it again.");
}
