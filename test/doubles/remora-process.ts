/** The real process as a child, with its own workspace and data, a free port, and only the given models. */
import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

const project = resolve(import.meta.dirname, "../..");
/** In tests, a heap that starts large saves a sixth of a start's processor time. Benchmarks measure what people run. */
const heap = process.env.VITEST === undefined ? [] : ["--initial-heap-size=256"];

export interface RemoraProcess {
  url: string;
  token: string;
  home: RemoraHome;
  stdout(): string;
  stderr(): string;
  pid: number;
  /** Resolves with the exit code when the process ends; null: by a signal. */
  exited: Promise<number | null>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** Survives the process, so another one can continue. */
export interface RemoraHome {
  workspace: string;
  data: string;
  remove(): Promise<void>;
}

export async function createHome(): Promise<RemoraHome> {
  const folder = await mkdtemp(join(tmpdir(), "remora-home-"));
  const workspace = join(folder, "workspace");
  await cp(join(project, "workspace"), workspace, { recursive: true, filter: isShipped });
  return { workspace, data: join(folder, "data"), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** What somebody's own agent has learned in this checkout is none of a test's business. */
function isShipped(path: string): boolean {
  const inside = relative(join(project, "workspace"), path);
  return !/^(?:files|skills|knowledge|drafts|outputs|outbox|journals)(?:\/|$)|^brain\/(?:hippocampus|basalganglia|cortex|corpus|motor)\/|\.debug\//.test(
    inside,
  );
}

export async function startRemora(
  home: RemoraHome,
  env: Record<string, string> = {},
  args: string[] = [],
  onSpawn: (child: ChildProcess) => void = () => {},
): Promise<RemoraProcess> {
  const child = spawn(process.execPath, [...heap, ...(await startArguments()), ...args], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH ?? "",
      HOME: process.env.HOME ?? "",
      REMORA_WORKSPACE: home.workspace,
      REMORA_DATA: home.data,
      REMORA_ENV_FILE: "/dev/null",
      REMORA_PORT: "0",
      // Nothing listens on port 1: no test talks to a model server that happens to run here.
      OLLAMA_HOST: "http://127.0.0.1:1",
      LOG_LEVEL: "warn",
      // Chat services refuse the demo model unless it is named.
      ...(Object.keys(env).some((name) => /^(?:ANTHROPIC|OPENAI|OLLAMA)_/.test(name)) ? {} : { REMORA_MODEL: "demo" }),
      ...env,
    },
  });
  onSpawn(child);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const exited = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  const link = await waitForLink(child, stdout, stderr);
  return {
    url: link.origin,
    token: link.searchParams.get("token") ?? "",
    home,
    stdout,
    stderr,
    pid: child.pid ?? 0,
    exited,
    async stop() {
      child.kill("SIGTERM");
      return await exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** The options of `npm start`, so tests and benchmarks run what people run. */
async function startArguments(): Promise<string[]> {
  const { scripts } = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  const [program, ...args] = scripts.start.split(" ");
  if (program !== "node") throw new Error(`npm start runs ${program}, and this double knows node alone`);
  return args;
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.on("data", (chunk) => {
    text += chunk;
  });
  return () => text;
}

function waitForLink(child: ChildProcess, stdout: () => string, stderr: () => string): Promise<URL> {
  return new Promise((done, fail) => {
    const look = () => {
      const [link] = /http:\/\/\S+(?:token=\S+|\/readyz)/.exec(stdout()) ?? [];
      if (link !== undefined && stdout().includes("Brain")) done(new URL(link));
    };
    child.stdout?.on("data", look);
    child.once("exit", (code) =>
      fail(new Error(`the process ended with ${code} before it was ready\n${stdout()}\n${stderr()}`)),
    );
  });
}
