/**
 * A process of its own that works on a ledger in Redis, for tests that kill it or run several of them.
 * `write URL PREFIX`: creates and moves entries for ever, and prints each id once its promise has resolved.
 * `claim URL PREFIX COUNT`: tries to move each of COUNT entries to `started`, counts each try, and prints those it won.
 */
import { writeSync } from "node:fs";
import { silentLog } from "../../src/lib/log.ts";
import { createRedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";

const [task = "", url = "", prefix = "", count = "0"] = process.argv.slice(2);
const connection = createRedisConnection(url, silentLog);
const ledger = await createRedisLedger({ connection, prefix });
const body = { turnId: "turn", callId: "call", name: "tool", attempts: 0, startedAt: 1 };

if (task === "write") {
  for (let number = 0; ; number += 1) {
    await ledger.create("call", `k${number}`, { state: "planned", body, group: "turn" });
    await ledger.transition("call", `k${number}`, ["planned"], "done", (was) => ({ ...was, attempts: number }));
    writeSync(1, `k${number}\n`);
  }
}

if (task === "claim") {
  const won: string[] = [];
  for (let number = 0; number < Number(count); number += 1) {
    const entry = await ledger.transition("call", `k${number}`, ["planned"], "started", (was) => was);
    if (entry !== undefined) won.push(entry.id);
    await ledger.transition("call", "counter", ["planned"], "planned", (was) => ({
      ...was,
      attempts: was.attempts + 1,
    }));
  }
  writeSync(1, JSON.stringify(won));
  await connection.close();
}
