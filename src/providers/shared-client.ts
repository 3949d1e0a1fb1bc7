/**
 * One client of a library for all requests of a provider, created with the first request because that is slow. The async
 * context of a request supplies its own `fetch`.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StreamCall } from "./guarded-stream.ts";

/** Runs `work` with the client. Whatever the client fetches meanwhile uses the call's own `fetch`. */
export type WithClient<C> = <T>(call: StreamCall, work: (client: C) => Promise<T>) => Promise<T>;

export function createSharedClient<C>(make: (fetch: typeof globalThis.fetch) => Promise<C>): WithClient<C> {
  const calls = new AsyncLocalStorage<StreamCall>();
  let client: Promise<C> | undefined;

  async function fetchOfCall(...request: Parameters<typeof globalThis.fetch>): Promise<Response> {
    const call = calls.getStore();
    if (call === undefined) throw new Error("a client called fetch outside of a request");
    return await call.fetch(...request);
  }

  return async (call, work) => {
    client ??= make(fetchOfCall);
    const made = await client;
    return await calls.run(call, () => work(made));
  };
}
