/**
 * A process of its own that asks a model against one budget until the budget is used up, for tests that run several.
 * `sqlite PATH NAME` or `redis URL PREFIX NAME`. Prints what its calls cost, in thousandths of a dollar.
 */
import { writeSync } from "node:fs";
import { silentLog } from "../../src/lib/log.ts";
import { createRedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { useUp } from "./use-up.ts";

const [kind = "", place = "", prefix = ""] = process.argv.slice(2);
const name = process.argv.at(-1) ?? "";
const connection = kind === "redis" ? createRedisConnection(place, silentLog) : undefined;
const ledger =
  connection === undefined ? createSqliteLedger({ path: place }) : await createRedisLedger({ connection, prefix });
writeSync(1, JSON.stringify(await useUp(ledger, name)));
await ledger.close();
await connection?.close();
