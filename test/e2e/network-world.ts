/** Servers on loopback addresses outside the view, and a process whose commands can request access to them. */
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { createAuthority } from "../../src/sandbox/egress/certificates.ts";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { startRemora as startHere } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RemoraProcess,
  type RunningRemora,
  startRemora,
} from "../doubles/remora-process.ts";
import { gitHost } from "../sandbox/egress/origins.ts";
import { listening } from "../sandbox/egress/servers.ts";

export interface Origin {
  /** The host as calls name it. */
  host: string;
  /** Method and path of each request, in order. */
  requests: string[];
  connections(): number;
}

export interface NetworkWorld {
  home: RemoraHome;
  model: CallingModel;
  /** Folder for files of servers and tests. */
  folder(name: string): Promise<string>;
  serve(address: string, answer: RequestListener): Promise<Origin>;
  /** With a certificate that the process trusts. */
  serveTls(address: string, answer: RequestListener): Promise<Origin>;
  /** The checkout, served by `git`, that the channel `random` works in. */
  checkout: string;
  git: Origin & { bare: string };
  /** `network`: settings below `sandbox.network` besides `allow`. */
  start(network?: object, env?: Record<string, string>): Promise<RemoraProcess>;
  /** Within this process, with the settings of the last one. */
  startHere(env?: Record<string, string>): Promise<RunningRemora>;
  /** Files of the home and its workspace that contain the text. */
  filesWith(text: string): Promise<string[]>;
  close(): Promise<void>;
}

export async function createNetworkWorld(): Promise<NetworkWorld> {
  const [home, model] = await Promise.all([createHome(), startCallingModel()]);
  const root = join(home.workspace, "..");
  const closing: (() => void)[] = [];
  const authority = await createAuthority();
  const [certificateFile, configFile] = [join(root, "authority.pem"), join(root, "remora.yaml")];
  await writeFile(certificateFile, authority.certificate);
  const processes: RemoraProcess[] = [];
  const here: RunningRemora[] = [];
  const settings = {
    ...{ REMORA_CONFIG: configFile, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
    ...{ NODE_EXTRA_CA_CERTS: certificateFile, LOG_LEVEL: "info" },
  };

  async function folder(name: string): Promise<string> {
    await mkdir(join(root, "served", name), { recursive: true });
    return join(root, "served", name);
  }

  async function serveWith(server: Server, address: string): Promise<Origin> {
    const { port, close } = await listening(server, address);
    closing.push(close);
    let connections = 0;
    const requests: string[] = [];
    server.on("connection", () => {
      connections += 1;
    });
    server.on("request", ({ method, url }) => requests.push(`${method} ${url}`));
    return { host: `${address}:${port}`, requests, connections: () => connections };
  }
  const serve = (address: string, answer: RequestListener) => serveWith(createServer(answer), address);

  const repositories = await folder("git");
  const git = { ...(await serve("127.0.0.2", gitHost(repositories))), bare: join(repositories, "project.git") };
  const checkout = join(root, "checkout");
  execFileSync("git", ["clone", "-q", git.bare, checkout]);
  execFileSync("git", ["-C", checkout, "remote", "set-url", "origin", `http://${git.host}/project.git`]);

  return {
    ...{ home, model, folder, serve, checkout, git },
    async serveTls(address, answer) {
      const credentials = await authority.credentialsFor(address);
      return await serveWith(createTlsServer(credentials, answer) as unknown as Server, address);
    },
    async start(network = {}, env = {}) {
      const sandbox = { network: { allow: ["127.0.0.0/8"], ...network } };
      await writeFile(configFile, JSON.stringify({ folders: { "local:channel:random": checkout }, sandbox }));
      const started = await startRemora(home, { ...settings, ...env });
      processes.push(started);
      return started;
    },
    async startHere(env = {}) {
      const started = await startHere(home, { ...settings, ...env });
      here.push(started);
      return started;
    },
    async filesWith(text) {
      const files = await filesIn(root);
      const found = await Promise.all(
        files.map(async (file) => (await readFile(file).catch(goneMeanwhile)).includes(text)),
      );
      return files.filter((_file, index) => found[index]);
    },
    async close() {
      await Promise.all([...processes.map((each) => each.kill()), ...here.map((each) => each.stop())]);
      for (const close of closing) close();
      await model.close();
      await home.remove();
    },
  };
}

/** Unlike a recursive readdir, tolerates folders that are deleted during the read, such as settled drafts. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(noneWhenGone);
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  const deeper = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map(({ name }) => filesIn(join(folder, name))),
  );
  return [...files, ...deeper.flat()];
}

function noneWhenGone(thrown: NodeJS.ErrnoException): [] {
  if (thrown.code === "ENOENT") return [];
  throw thrown;
}

function goneMeanwhile(thrown: NodeJS.ErrnoException): string {
  if (thrown.code === "ENOENT") return "";
  throw thrown;
}
