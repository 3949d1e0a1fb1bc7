/**
 * The open page's connection to the server. `watch` loads an address again and again while the tab is visible, and asks
 * only for changes (ETag). What was loaded stays while a later request fails, and `problem` says why it is out of date.
 * `close` ends everything, so a page that was left costs nothing.
 */

const defaultEveryMs = 2_000;
const unreachable = "Can't reach Remora. Is it still running?";

/** A person who has signed in proves with it that a change comes from this page. */
let csrfToken = null;

export function useToken(token) {
  csrfToken = token;
}

export function openSession(onChange) {
  const closing = new AbortController();
  const watches = [];

  /** `address` is called before each request, so it can depend on the page's search. */
  function watch(address, everyMs = defaultEveryMs) {
    const resource = { data: undefined, problem: undefined, isGone: false, refresh };
    let running;
    let timer;
    let loaded = { path: undefined, tag: undefined };

    async function load(signal) {
      const path = address();
      if (path === undefined) return;
      const headers = path === loaded.path && loaded.tag !== undefined ? { "if-none-match": loaded.tag } : {};
      try {
        const response = await fetch(path, { headers, signal, cache: "no-store" });
        const body = response.status === 304 ? undefined : await readBody(response);
        if (signal.aborted) return;
        resource.problem = undefined;
        resource.isGone = response.status === 404;
        if (response.ok) {
          resource.data = body;
          loaded = { path, tag: response.headers.get("etag") ?? undefined };
        } else if (response.status !== 304) resource.problem = body.error ?? body.text;
      } catch {
        if (signal.aborted) return;
        resource.problem = unreachable;
      }
      onChange();
    }

    async function refresh() {
      if (closing.signal.aborted) return;
      clearTimeout(timer);
      running?.abort();
      const own = new AbortController();
      running = own;
      await load(AbortSignal.any([own.signal, closing.signal]));
      if (running !== own || closing.signal.aborted || everyMs === null) return;
      timer = setTimeout(() => document.visibilityState === "visible" && refresh(), everyMs);
    }

    closing.signal.addEventListener("abort", () => clearTimeout(timer));
    watches.push(resource);
    refresh();
    return resource;
  }

  const refreshAll = () => Promise.all(watches.map((resource) => resource.refresh()));
  const onVisibility = () => document.visibilityState === "visible" && refreshAll();
  document.addEventListener("visibilitychange", onVisibility, { signal: closing.signal });

  return {
    watch,
    refreshAll,
    problem: () => watches.find(({ problem, isGone }) => problem !== undefined && !isGone)?.problem,
    close: () => closing.abort(),
  };
}

/** Resolves to a receipt: whether it was done, and what to tell the person. */
export async function act(path, body) {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(csrfToken === null ? {} : { "x-remora-csrf": csrfToken }) },
      body: JSON.stringify(body),
    });
    const { accepted = false, text, error } = await readBody(response);
    return { accepted, text: text ?? error };
  } catch {
    return { accepted: false, text: `${unreachable} Nothing was changed.` };
  }
}

/** Loads an address once. */
export async function load(path) {
  try {
    const response = await fetch(path, { cache: "no-store" });
    const body = await readBody(response);
    return response.ok ? { data: body } : { problem: body.error ?? body.text };
  } catch {
    return { problem: unreachable };
  }
}

async function readBody(response) {
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const body = isJson ? await response.json() : { error: await response.text() };
  // The session has ended.
  if (response.status === 401 && body.signIn !== undefined) location.assign(`${body.signIn}?to=/dashboard`);
  return body;
}
