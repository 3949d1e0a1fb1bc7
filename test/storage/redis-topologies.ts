/** Several real redis-servers that belong together, for tests: a cluster, and a sentinel over a primary. */
import { type RedisServer, startRedisServer, until } from "../doubles/redis-server.ts";

export interface RedisCluster {
  url: string;
  nodes: RedisServer[];
  dispose(): Promise<void>;
}

const slotCount = 16_384;

/** Nodes without replicas that share the slots evenly. Resolves once all of them see the whole cluster. */
export async function startRedisCluster(count: number): Promise<RedisCluster> {
  const args = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-node-timeout", "2000"];
  const nodes = await Promise.all(Array.from({ length: count }, () => startRedisServer({ args })));
  const dispose = async () => void (await Promise.all(nodes.map((node) => node.dispose())));
  try {
    const share = Math.ceil(slotCount / count);
    const slots = Array.from({ length: slotCount }, (_, slot) => slot);
    for (const [index, { client, host, port }] of nodes.entries()) {
      await client.call("CLUSTER", "ADDSLOTS", ...slots.slice(index * share, (index + 1) * share));
      if (index > 0) await nodes[0]?.client.call("CLUSTER", "MEET", host, port);
    }
    await until(`a cluster of ${count}`, async () => {
      const infos = await Promise.all(nodes.map(({ client }) => client.cluster("INFO")));
      return infos.every((info) => info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}`));
    });
  } catch (thrown) {
    await dispose();
    throw thrown;
  }
  return { url: `redis+cluster://${nodes.map(({ host, port }) => `${host}:${port}`).join(",")}`, nodes, dispose };
}

export interface RedisSentinel {
  url: string;
  sentinel: RedisServer;
  primary: RedisServer;
  replica: RedisServer;
  dispose(): Promise<void>;
}

/** A sentinel that may decide alone, a primary, and a replica that has caught up with it. */
export async function startRedisSentinel(password?: string): Promise<RedisSentinel> {
  const login = password === undefined ? {} : { password };
  const args = ["--repl-diskless-sync-delay", "0", ...(password === undefined ? [] : ["--masterauth", password])];
  const primary = await startRedisServer({ ...login, args });
  const replica = await startRedisServer({
    ...login,
    args: [...args, "--replicaof", `${primary.host} ${primary.port}`],
  });
  await until("the replica", async () => (await replica.client.info("replication")).includes("master_link_status:up"));
  const sentinel = await startRedisServer({
    ...login,
    sentinel: [
      `sentinel monitor mymaster ${primary.host} ${primary.port} 1`,
      ...(password === undefined ? [] : [`sentinel auth-pass mymaster ${password}`]),
      "sentinel down-after-milliseconds mymaster 500",
      "sentinel failover-timeout mymaster 2000",
    ],
  });
  await until("the sentinel", async () => {
    const replicas = await sentinel.client.call("SENTINEL", "replicas", "mymaster");
    return Array.isArray(replicas) && replicas.length === 1;
  });
  return {
    url: `${sentinel.url.replace("redis:", "redis+sentinel:")}/mymaster`,
    sentinel,
    primary,
    replica,
    async dispose() {
      await Promise.all([sentinel, primary, replica].map((server) => server.dispose()));
    },
  };
}
