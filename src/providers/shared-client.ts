/** Shares one client, because creating it is slow. Each request supplies its own `fetch` through the async context. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StreamCall } from "./guarded-stream.ts";

/** Runs `work` with the client. All requests that `work` makes use the `fetch` of `call`. */
export type WithClient<C> = <T>(call: StreamCall, work: (client: C) => Promise<T>) => Promise<T>;

/** `prepare` runs before each request, for settings that can change. */
export function createSharedClient<C>(
  make: (fetch: typeof globalThis.fetch) => Promise<C>,
  prepare: (client: C) => void,
): WithClient<C> {
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
    prepare(made);
    return await calls.run(call, () => work(made));
  };
}
