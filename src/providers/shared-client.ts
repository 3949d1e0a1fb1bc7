/**
 * One client of a library for all requests of a provider, made at the first of them: making one takes longer than making a
 * request. The `fetch` that belongs to a request alone is found by the request's async context.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StreamCall } from "./guarded-stream.ts";

/** Runs `work`, which asks by the client; what the client fetches in it goes over the call's own `fetch`. */
export type WithClient<C> = <T>(call: StreamCall, work: (client: C) => Promise<T>) => Promise<T>;

export function createSharedClient<C>(make: (fetch: typeof globalThis.fetch) => Promise<C>): WithClient<C> {
  const calls = new AsyncLocalStorage<StreamCall>();
  let client: Promise<C> | undefined;

  async function fetchOfCall(...request: Parameters<typeof globalThis.fetch>): Promise<Response> {
    const call = calls.getStore();
    if (call === undefined) throw new Error("a client fetched outside of any request");
    return await call.fetch(...request);
  }

  return async (call, work) => {
    client ??= make(fetchOfCall);
    const made = await client;
    return await calls.run(call, () => work(made));
  };
}
