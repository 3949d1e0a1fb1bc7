/**
 * Parses REDIS_URL. There are three forms, each also with TLS (`rediss`):
 *
 *   redis://[[user]:password@]host[:port][/database]
 *   redis+sentinel://[[user]:password@]host[:port],host[:port]/master-name[/database]
 *   redis+cluster://[[user]:password@]host[:port],host[:port]
 *
 * Error messages never quote a part of the address, because it may belong to a password.
 */
import { RemoraError } from "../../lib/errors.ts";

export interface RedisNode {
  host: string;
  port: number;
}

interface Reach {
  isTls: boolean;
  username?: string;
  password?: string;
  /** For people, so without user and password. */
  name: string;
}

export type RedisAddress =
  | (Reach & { type: "single"; node: RedisNode; database: number })
  | (Reach & { type: "sentinel"; sentinels: RedisNode[]; masterName: string; database: number })
  | (Reach & { type: "cluster"; nodes: RedisNode[] });

const defaultPort = 6379;
const defaultSentinelPort = 26_379;

const forms =
  "Write redis://:PASSWORD@HOST:6379, rediss:// for TLS, redis+sentinel://:PASSWORD@HOST:26379,HOST:26379/MASTER-NAME " +
  "or redis+cluster://:PASSWORD@HOST:6379,HOST:6379";

export function parseRedisUrl(url: string): RedisAddress {
  const [, scheme, kind, rest = ""] = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(.*)$/is.exec(url.trim()) ?? [];
  if (scheme === undefined) throw wrong(`is not a valid Redis address. ${forms}`);
  const { hosts, path, ...login } = split(rest);
  const isTls = scheme.toLowerCase() === "rediss";
  const nameOf = (nodes: RedisNode[], end = "") =>
    `${scheme}${kind === undefined ? "" : `+${kind}`}://${nodes.map(nodeName).join(",")}${end}`.toLowerCase();
  switch (kind?.toLowerCase()) {
    case undefined: {
      const [node, ...others] = nodesOf(hosts, defaultPort);
      if (node === undefined || others.length > 0) {
        throw wrong("names several hosts. Put redis+sentinel:// or redis+cluster:// before them");
      }
      const database = databaseOf(path);
      return { type: "single", node, database, isTls, ...login, name: nameOf([node], `/${database}`) };
    }
    case "sentinel": {
      const sentinels = nodesOf(hosts, defaultSentinelPort);
      const [, name = "", last = ""] = /^\/([^/]*)(.*)$/s.exec(path) ?? [];
      const masterName = decoded(name);
      if (masterName === "") throw wrong("names no master. Write its name after the sentinels: …:26379/mymaster");
      const database = databaseOf(last);
      const common = { isTls, ...login, name: `${nameOf(sentinels)}/${masterName}/${database}` };
      return { type: "sentinel", sentinels, masterName, database, ...common };
    }
    default: {
      const nodes = nodesOf(hosts, defaultPort);
      if (databaseOf(path) !== 0) throw wrong("asks for a database other than 0, but Redis Cluster has no other");
      return { type: "cluster", nodes, isTls, ...login, name: nameOf(nodes) };
    }
  }
}

/** Reserved characters in a password are percent-encoded, so the parts of an address are unambiguous. */
function split(rest: string): { username?: string; password?: string; hosts: string; path: string } {
  if (/[?#\s]/.test(rest)) {
    throw wrong("contains ?, # or a space. In a password, write %3F, %23 or %20. Settings after a ? are not supported");
  }
  const [, login, hosts = "", path = ""] = /^(?:(.*)@)?([^/]*)(.*)$/s.exec(rest) ?? [];
  if (login === undefined || login === "" || login === ":") return { hosts, path };
  if (/[@/]/.test(login)) throw wrong("has an @ or / in its user or password. Write %40 or %2F instead");
  const [, username = "", password = ""] = /^([^:]*)(?::(.*))?$/s.exec(login) ?? [];
  if (password === "")
    throw wrong("has a user but no password. Write redis://user:PASSWORD@…, or :PASSWORD@ without a user");
  return {
    ...(username === "" ? {} : { username: decoded(username) }),
    password: decoded(password),
    hosts,
    path,
  };
}

function nodesOf(hosts: string, port: number): RedisNode[] {
  return hosts.split(",").map((host) => {
    const [, ip6, name = ip6, digits] = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d+))?$/i.exec(host) ?? [];
    const node = { host: name ?? "", port: digits === undefined ? port : Number(digits) };
    if (node.host === "" || node.port < 1 || node.port > 65_535) {
      throw wrong(`has an invalid host. A host is a name and a port from 1 to 65535. ${forms}`);
    }
    return node;
  });
}

function databaseOf(path: string): number {
  if (path === "" || path === "/") return 0;
  const [, digits] = /^\/(\d{1,5})$/.exec(path) ?? [];
  if (digits === undefined) throw wrong("ends with something that is not a database number. Write /0, or nothing");
  return Number(digits);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong("has an invalid % sequence. Write %25 for a percent sign");
  }
}

function nodeName({ host, port }: RedisNode): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function wrong(what: string): RemoraError {
  return new RemoraError({ code: "config.redis-url", place: "REDIS_URL", message: `${what}.` });
}
