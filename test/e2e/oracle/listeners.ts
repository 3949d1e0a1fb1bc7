/** Listeners that only an escaped command can reach: TCP, UDP, Unix sockets, vsock and a pipe. */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";

export interface Listeners {
  tcp: number;
  udp: number;
  vsock: number;
  /** An address of this machine that is not the loopback's. */
  address: string;
  /** One line per visitor. */
  heard: string[];
  /** A named pipe; writes to it are recorded too. */
  watchPipe(path: string): void;
  close(): Promise<void>;
}

const vsockPort = 17_405;
const vsockProgram = `import socket
s = socket.socket(40, 1)
s.bind((0xffffffff, ${vsockPort}))
s.listen()
while True:
    s.accept()
    print("vsock", flush=True)
`;

export interface ListenerNames {
  /** Without the leading NUL. */
  abstract: string;
  /** Paths of sockets. */
  sockets: readonly string[];
}

export async function startListeners(names: ListenerNames): Promise<Listeners> {
  const heard: string[] = [];
  const listen = async (at: string | number, what: string): Promise<Server> => {
    const server = createServer((socket) => {
      heard.push(what);
      socket.on("error", () => {}).destroy();
    });
    server.listen(typeof at === "number" ? { port: at, host: "::" } : { path: at });
    await once(server, "listening");
    return server;
  };
  const tcp = await listen(0, "TCP");
  const locals = [
    await listen(`\0${names.abstract}`, "abstract socket"),
    ...(await Promise.all(names.sockets.map((path) => listen(path, `socket ${path}`)))),
  ];
  const udp = createSocket({ type: "udp6" }, () => heard.push("UDP"));
  udp.bind(0, "::");
  await once(udp, "listening");
  const children = [listenTo("python3", ["-c", vsockProgram], heard)];
  return {
    tcp: (tcp.address() as { port: number }).port,
    udp: udp.address().port,
    vsock: vsockPort,
    address: ownAddress(),
    heard,
    watchPipe: (path) => void children.push(listenTo("sh", ["-c", 'exec cat <> "$0"', path], heard)),
    async close() {
      for (const child of children) child.kill("SIGKILL");
      udp.close();
      await Promise.all([tcp, ...locals].map((server) => new Promise((done) => server.close(done))));
    },
  };
}

function listenTo(program: string, args: string[], heard: string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.on("data", (chunk) => heard.push(`${program}: ${chunk}`));
  // Without the program or vsock, the machine can't be reached that way.
  child.on("error", () => {});
  return child;
}

function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.2";
}
