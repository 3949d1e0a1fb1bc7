/** Talks to the server: requests, whose failures carry messages for people, and the live stream of changes. */

export class Failure extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function request(method, path, body) {
  let response;
  try {
    response = await fetch(`/local/api/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
  } catch {
    throw new Failure("Can't reach Remora. Is it running? What you wrote is still here.", 0);
  }
  if (response.status === 204) return undefined;
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
  if (response.ok) return json;
  throw new Failure(json?.error ?? text, response.status);
}

/** After this time without data, the connection counts as lost, even if the browser reports no error. */
const maxSilenceMs = 40_000;
const reconnectMs = 1500;

/** The browser resumes from the last event id. If it gives up or nothing arrives, a new stream starts at `since()`. */
export function follow(person, since, { onMessage, onReset, onConnection }) {
  let source;
  let heardAt = Date.now();
  let retry;

  function open() {
    clearTimeout(retry);
    source?.close();
    heardAt = Date.now();
    source = new EventSource(`/local/api/events?person=${encodeURIComponent(person)}&since=${since()}`);
    const heard = (work) => (event) => {
      heardAt = Date.now();
      onConnection(true);
      work?.(event);
    };
    source.addEventListener("hello", heard());
    source.addEventListener("ping", heard());
    source.addEventListener(
      "message",
      heard((event) => onMessage(JSON.parse(event.data))),
    );
    source.addEventListener("reset", heard(onReset));
    source.addEventListener("error", () => {
      onConnection(false);
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, reconnectMs);
    });
  }

  open();
  const watch = setInterval(() => {
    if (Date.now() - heardAt < maxSilenceMs) return;
    onConnection(false);
    open();
  }, 5000);
  return () => {
    clearInterval(watch);
    clearTimeout(retry);
    source.close();
  };
}
