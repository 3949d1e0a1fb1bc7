/** Holds one call of a file system function back, as a server of a shared folder does that does not answer. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

export interface Stall {
  /** Resolves when the call waits. */
  begun: Promise<void>;
  end(): void;
}

/** The next call whose arguments fit. It runs when the stall ends. */
export function stallNext(name: "open" | "rename" | "rm", fits: (...paths: string[]) => boolean): Stall {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const original = fs.promises[name] as (...args: unknown[]) => Promise<unknown>;
  const put = (replacement: typeof original) => {
    Object.assign(fs.promises, { [name]: replacement });
    syncBuiltinESMExports();
  };
  put(async (...args) => {
    if (!fits(...args.map(String))) return await original(...args);
    put(original);
    begun.resolve();
    await ended.promise;
    return await original(...args);
  });
  return { begun: begun.promise, end: ended.resolve };
}
