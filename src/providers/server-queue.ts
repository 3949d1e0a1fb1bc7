/**
 * Limits how many requests a model's server gets at once. A small server works on one after the other, and what it gets besides waits
 * there unseen. Here it waits in the order of arrival, outside every time limit: people read how many are before them, and a stop takes
 * effect at once. Requests for which nobody waits come last, and make room for people's.
 */
import { RemoraError } from "../lib/errors.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import { isJsonObject } from "../lib/json.ts";
import { type ModelEvent, type Provider, thinkingNotice } from "../ports/provider.ts";
import { isLocalAddress } from "./network.ts";
import { isKnownService } from "./patience.ts";

interface Place {
  isBackground: boolean;
  /** Aborts when a request of the background has to make room. */
  leaving: AbortController;
  /** Resolves at the next change of the queue. */
  changed: PromiseWithResolvers<void>;
}

/** Ollama's `OLLAMA_NUM_PARALLEL`, and what LM Studio and llama-server take, unless somebody sets others. */
const ollamaRequests = 1;
const localRequests = 4;
const slotsMs = 1_000;

/** How many requests an address gets at once if no setting says so. What speaks Anthropic's protocol nearby is a gateway. */
export function usualConcurrency(provider: string, address: string | undefined): number {
  if (address === undefined || isKnownService(address)) return Number.POSITIVE_INFINITY;
  if (provider === "ollama") return ollamaRequests;
  return provider === "openai" && isLocalAddress(address) ? localRequests : Number.POSITIVE_INFINITY;
}

/** Undefined if the server is not there yet, or still loads its model, so that it has to be asked again. */
type Slots = { count: number | undefined } | undefined;

/** The slots of a llama-server nearby: `total_slots` of `GET /props`, in its README. Other servers have no count. */
export async function slotsAt(provider: string, address: string | undefined): Promise<Slots> {
  if (provider !== "openai" || address === undefined || !isLocalAddress(address)) return { count: undefined };
  try {
    const signal = AbortSignal.timeout(slotsMs);
    const response = await fetchDirectly(`${address.replace(/\/+$/, "").replace(/\/v1$/, "")}/props`, { signal });
    if (response.status >= 500) return undefined;
    const body: unknown = await response.json().catch(() => undefined);
    const count = response.ok && isJsonObject(body) ? body.total_slots : undefined;
    return { count: typeof count === "number" && count >= 1 ? count : undefined };
  } catch {
    return undefined;
  }
}

/** `concurrency` can be infinite. `slots` is asked with the first request that the server answers, and counts instead if it says a number. */
export function queued(provider: Provider, concurrency: number, slots?: () => Promise<Slots>): Provider {
  if (concurrency === Number.POSITIVE_INFINITY) return provider;
  const queue = createQueue(concurrency);
  let asking: Promise<Slots> | undefined;
  return {
    ...provider,
    async *stream(request, signal) {
      asking ??= slots?.();
      const said = await asking;
      if (said === undefined) asking = undefined;
      else queue.limit(said.count);
      const place = queue.enter(request.isBackground === true);
      const wake = () => place.changed.resolve();
      signal.addEventListener("abort", wake, { once: true });
      try {
        let told = "";
        for (;;) {
          const { promise } = place.changed;
          if (signal.aborted) return yield ended(provider.name, place.isBackground);
          if (queue.isRunning(place)) break;
          const text = waitingText(queue.before(place));
          if (!place.isBackground && text !== "" && text !== told) yield { type: "notice", text };
          told = text;
          await promise;
        }
        if (told !== "") yield thinkingNotice;
        const within = place.isBackground ? AbortSignal.any([signal, place.leaving.signal]) : signal;
        for await (const event of provider.stream(request, within)) {
          // The reader of the last event may take its time.
          if (event.type === "end" || event.type === "error") queue.leave(place);
          const hasLeft = event.type === "error" && place.leaving.signal.aborted && !signal.aborted;
          yield hasLeft ? ended(provider.name, true) : event;
        }
      } finally {
        signal.removeEventListener("abort", wake);
        queue.leave(place);
      }
    },
  };
}

function createQueue(usual: number) {
  let concurrency = usual;
  const running = new Set<Place>();
  let waiting: Place[] = [];

  function admit(): void {
    while (running.size < concurrency) {
      const next = waiting.shift();
      if (next === undefined) break;
      running.add(next);
      wake(next);
    }
    for (const place of waiting) wake(place);
  }

  return {
    limit(slots: number | undefined): void {
      concurrency = slots ?? concurrency;
    },
    enter(isBackground: boolean): Place {
      const place = { isBackground, leaving: new AbortController(), changed: Promise.withResolvers<void>() };
      const firstOfBackground = isBackground ? -1 : waiting.findIndex((other) => other.isBackground);
      waiting.splice(firstOfBackground === -1 ? waiting.length : firstOfBackground, 0, place);
      admit();
      const inTheWay = [...running].find((other) => other.isBackground && !other.leaving.signal.aborted);
      if (!isBackground && waiting.includes(place)) inTheWay?.leaving.abort();
      return place;
    },
    isRunning: (place: Place) => running.has(place),
    /** People's requests that were there before. */
    before: (place: Place) =>
      [...running, ...waiting.slice(0, waiting.indexOf(place))].filter((other) => !other.isBackground).length,
    leave(place: Place): void {
      const isWaiting = waiting.includes(place);
      if (!running.delete(place) && !isWaiting) return;
      if (isWaiting) waiting = waiting.filter((other) => other !== place);
      admit();
    },
  };
}

function wake(place: Place): void {
  place.changed.resolve();
  place.changed = Promise.withResolvers();
}

/** As the queue of whole requests says it (engine/conversation/places-in-queue.ts). */
function waitingText(before: number): string {
  return before === 0 ? "" : `Waiting: ${before} ${before === 1 ? "request" : "requests"} before yours`;
}

/** Nothing is known to be wrong with a server that only had no room for the background. */
function ended(provider: string, isBackground: boolean): ModelEvent {
  const [code, message] = isBackground
    ? ["provider.busy", "people's requests went first; try again later"]
    : ["provider.aborted", "the request was stopped"];
  return {
    type: "error",
    error: new RemoraError({ code, place: `provider ${provider}`, message, isRetryable: false }),
  };
}
