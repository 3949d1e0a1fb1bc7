/** Talking to the server: requests with a sentence for every failure, and the live stream of changes. */

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

/** Silence for longer than this means that the connection is gone, whatever the browser believes. */
const silenceMs = 40_000;
const againMs = 1500;

/**
 * Follows the changes that `person` may see. The browser itself goes on after a cut with the last event's id; when it
 * gives up, or all is silent, a new stream begins at `since()`. Returns the way to stop.
 */
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
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, againMs);
    });
  }

  open();
  const watch = setInterval(() => {
    if (Date.now() - heardAt < silenceMs) return;
    onConnection(false);
    open();
  }, 5000);
  return () => {
    clearInterval(watch);
    clearTimeout(retry);
    source.close();
  };
}
