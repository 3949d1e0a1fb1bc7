/**
 * What is wrong with a Redis server for Remora, though it answers: it may throw away what Remora keeps, or lose it with a
 * restart. Each server that holds keys is asked; what it does not tell (managed ones hide their settings) is left out.
 */
import { Cluster, type Redis } from "ioredis";
import type { RedisClient } from "./clients.ts";
import { isAnswer } from "./errors.ts";

type Send = <T>(send: (client: RedisClient) => Promise<T>) => Promise<T>;

/** BullMQ's too: it refuses older ones. */
const oldestVersion = { major: 6, minor: 2 };

/** One sentence a problem. Rejects when Redis is away. */
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
    ...(info.get("role") === "slave" ? ["It is a replica and takes no writes: point REDIS_URL to the primary."] : []),
    ...evictionWarning(info.get("maxmemory_policy") ?? (await configOf(node, "maxmemory-policy"))),
    ...persistenceWarning(info, saves),
  ];
}

function versionWarning(version: string | undefined): string[] {
  const [major = 0, minor = 0] = version?.split(".").map(Number) ?? [];
  const { major: oldest, minor: oldestMinor } = oldestVersion;
  if (version === undefined || major > oldest || (major === oldest && minor >= oldestMinor)) return [];
  return [`Its version is ${version}, and Remora needs ${oldest}.${oldestMinor} or newer.`];
}

function evictionWarning(policy: string | undefined): string[] {
  if (policy === undefined || policy === "noeviction") return [];
  return [
    `Its maxmemory-policy is ${policy}: when memory runs out it throws away what Remora keeps. Set it to noeviction, and give Remora a server of its own.`,
  ];
}

function persistenceWarning(info: Map<string, string>, saves: string | undefined): string[] {
  if (info.get("aof_enabled") === "1") {
    if (info.get("aof_last_write_status") !== "err") return [];
    return ["It can't write its append-only file: look at its log, most often the disk is full."];
  }
  if (saves === undefined) return [];
  if (saves === "") {
    return ["It keeps nothing on disk: a restart loses every conversation, approval and job. Set appendonly to yes."];
  }
  return ["It only takes snapshots: a crash loses what came after the last one. Set appendonly to yes."];
}

/** Undefined when the server keeps its settings to itself. */
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
