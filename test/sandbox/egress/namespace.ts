/** The user, network and mount namespaces of a view, with the proxy of a session, but without the rest of a view. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { createEgress, type EgressOptions, type EgressSession } from "../../../src/sandbox/egress/egress.ts";
import { parseHosts } from "../../../src/sandbox/egress/hosts.ts";

export interface Ran {
  code: number | null;
  output: string;
}

export interface Namespace {
  pid: number;
  /** Runs a shell command inside and waits for it. Joins standard output and standard error. */
  run(command: string, env?: Record<string, string>): Promise<Ran>;
  start(command: string, env?: Record<string, string>): ChildProcess;
  close(): Promise<void>;
}

export async function openNamespace(mounts: readonly { from: string; at: string }[] = []): Promise<Namespace> {
  const binds = mounts.map(({ from, at }) => `mkdir -p '${at}' && mount --bind '${from}' '${at}'`);
  // Mount a tmpfs over /run, so that mount points do not touch the machine.
  const script = ["mount -t tmpfs tmpfs /run", ...binds, "echo ready", "exec sleep infinity"].join(" && ");
  const namespaces = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"];
  const outer = spawn("unshare", [...namespaces, "sh", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
  await Promise.race([
    once(outer.stdout, "data"),
    once(outer, "exit").then(() => Promise.reject(new Error("unshare"))),
  ]);
  const pid = Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8").trim().split(" ")[0]);

  const groups = new Set<ChildProcess>();

  function start(command: string, env: Record<string, string> = {}): ChildProcess {
    const into = ["--target", String(pid), "--user", "--net", "--mount", "--preserve-credentials"];
    const { PATH = "", HOME = "" } = process.env;
    const child = spawn("nsenter", [...into, "sh", "-c", `exec 2>&1; ${command}`], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { PATH, HOME, ...env },
      // Use a process group, so that everything the shell started ends with it.
      detached: true,
    });
    groups.add(child);
    child.once("close", () => groups.delete(child));
    return child;
  }

  return {
    pid,
    start,
    async run(command, env) {
      const child = start(command, env);
      child.stdin?.end();
      if (child.stdout === null) throw new Error("no output");
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
      return { code, output };
    },
    async close() {
      for (const { pid: group } of groups) endGroup(group);
      if (outer.exitCode !== null || outer.signalCode !== null) return;
      outer.kill("SIGKILL");
      await once(outer, "exit");
    },
  };
}

function endGroup(group: number | undefined): void {
  try {
    if (group !== undefined) process.kill(-group, "SIGKILL");
  } catch {
    // All processes have already ended.
  }
}

export interface OpenedEgress extends Namespace {
  session: EgressSession;
  env: Record<string, string>;
  /** Runs a command with the proxy's environment, as `start` does. */
  run(command: string, env?: Record<string, string>): Promise<Ran>;
  logged: Parameters<EgressOptions["log"]>[0][];
}

/** Only hosts in `names` exist. Loopback counts as public unless `allow` says otherwise. */
export async function openEgress(
  network: readonly string[],
  names: Readonly<Record<string, string | readonly string[]>>,
  options: Partial<EgressOptions> = {},
): Promise<OpenedEgress> {
  const logged: OpenedEgress["logged"] = [];
  const egress = createEgress({
    ...{ allow: ["127.0.0.0/8"], secrets: {}, log: (connection) => logged.push(connection) },
    resolve: async (host) => [names[host] ?? []].flat(),
    ...options,
  });
  const parsed = parseHosts(network);
  if (parsed.type === "refused") throw new Error(parsed.message);
  const { signal } = new AbortController();
  const session = await egress.open(parsed.hosts, signal);
  const namespace = await openNamespace(session.mounts);
  const env = await session.connect(namespace.pid, signal);
  return {
    ...namespace,
    ...{ session, env, logged },
    run: (command, more) => namespace.run(command, { ...env, ...more }),
    start: (command, more) => namespace.start(command, { ...env, ...more }),
    async close() {
      await egress.close();
      await namespace.close();
    },
  };
}
