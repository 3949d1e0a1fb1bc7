/** Warns if a Redis server may evict keys or lose them on restart. Skips settings that a server does not reveal. */
import { Cluster, type Redis } from "ioredis";
import type { RedisClient } from "./clients.ts";
import { isAnswer } from "./errors.ts";

type Send = <T>(send: (client: RedisClient) => Promise<T>) => Promise<T>;

/** BullMQ requires this version too. */
const minVersion = { major: 6, minor: 2 };

/** Returns one sentence per problem. Rejects if Redis is unreachable. */
export async function warningsOf(send: Send): Promise<string[]> {
  const warnings = await send(async (client) => {
    if (!(client instanceof Cluster)) return await warningsAbout(client);
    const each = client.nodes("master").map(async (node) => {
      const name = `${node.options.host}:${node.options.port}`;
      return (await warningsAbout(node)).map((warning) => `${name}: ${warning}`);
    });
    return (await Promise.all(each)).flat();
  });
  return [...new Set(warnings)];
}

async function warningsAbout(node: Redis): Promise<string[]> {
  const info = readInfo(await node.info());
  const saves = info.get("aof_enabled") === "1" ? undefined : await configOf(node, "save");
  return [
    ...versionWarning(info.get("redis_version")),
    ...(info.get("role") === "slave" ? ["It is a read-only replica. Point REDIS_URL to the primary."] : []),
    ...evictionWarning(info.get("maxmemory_policy") ?? (await configOf(node, "maxmemory-policy"))),
    ...persistenceWarning(info, saves),
  ];
}

function versionWarning(version: string | undefined): string[] {
  const [major = 0, minor = 0] = version?.split(".").map(Number) ?? [];
  const { major: oldest, minor: oldestMinor } = minVersion;
  if (version === undefined || major > oldest || (major === oldest && minor >= oldestMinor)) return [];
  return [`Its version is ${version}, and Remora needs ${oldest}.${oldestMinor} or newer.`];
}

function evictionWarning(policy: string | undefined): string[] {
  if (policy === undefined || policy === "noeviction") return [];
  return [
    `Redis has the maxmemory-policy ${policy}: when memory runs out, it deletes Remora's data. Set it to noeviction, and give Remora a server of its own.`,
  ];
}

function persistenceWarning(info: Map<string, string>, saves: string | undefined): string[] {
  if (info.get("aof_enabled") === "1") {
    if (info.get("aof_last_write_status") !== "err") return [];
    return ["Redis can't write its append-only file. Check its log; usually the disk is full."];
  }
  if (saves === undefined) return [];
  if (saves === "") {
    return [
      "Redis stores nothing on disk, so a restart loses every conversation, approval and job. Set appendonly to yes.",
    ];
  }
  return ["Redis only takes snapshots, so a crash loses everything after the last one. Set appendonly to yes."];
}

async function configOf(node: Redis, name: string): Promise<string | undefined> {
  try {
    const answer: unknown = await node.config("GET", name);
    const value = Array.isArray(answer) ? answer[1] : undefined;
    return typeof value === "string" ? value : undefined;
  } catch (thrown) {
    if (isAnswer(thrown)) return undefined;
    throw thrown;
  }
}

function readInfo(text: string): Map<string, string> {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
    }),
  );
}
