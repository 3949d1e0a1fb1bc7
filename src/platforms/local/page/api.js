/** Talks to the server: requests, whose failures carry messages for people, and the live stream of changes. */

export class Failure extends Error {}
/** Over as soon as the live stream is connected again. */
export class Unreachable extends Failure {}

export async function request(method, path, body) {
  const [response, text] = await answerTo(`/local/api/${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined;
  const json = response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
  if (response.ok) return json;
  throw new Failure(json?.error ?? text);
}

async function answerTo(url, options) {
  try {
    const response = await fetch(url, options);
    return [response, await response.text()];
  } catch {
    throw new Unreachable("Can't reach Remora. Is it running? What you wrote is still here.");
  }
}

/** Sends a file as the body. `onProgress` receives the fraction sent, from 0 to 1, which `fetch` does not report. */
export function upload(path, file, onProgress) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("PUT", `/local/api/${path}`);
    sending.setRequestHeader("content-type", file.type || "application/octet-stream");
    sending.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total));
    sending.addEventListener("load", () => {
      const isJson = sending.getResponseHeader("content-type")?.includes("json");
      const json = isJson ? JSON.parse(sending.responseText) : undefined;
      if (sending.status === 201) resolve(json);
      else reject(new Failure(json?.error ?? sending.responseText));
    });
    sending.addEventListener("error", () =>
      reject(new Failure("The upload broke off. Is Remora running? Send the message again.")),
    );
    sending.send(file);
  });
}

/** After this time without data, the connection counts as lost, even if the browser reports no error. */
const maxSilenceMs = 40_000;
const reconnectMs = 1500;

/** The browser resumes from the last event id. If it gives up or nothing arrives, a new stream starts at `since()`. */
export function follow(person, since, { onMessage, onLists, onReset, onConnection, onOpen }) {
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
    source.addEventListener("hello", heard(onOpen));
    source.addEventListener("ping", heard());
    source.addEventListener(
      "message",
      heard((event) => onMessage(JSON.parse(event.data))),
    );
    source.addEventListener(
      "lists",
      heard((event) => onLists(JSON.parse(event.data))),
    );
    source.addEventListener("reset", heard(onReset));
    // This stream ends now. The next one begins where it was, and nobody reads of a lost connection.
    source.addEventListener("renew", open);
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
