/** The real process as a child, with its own workspace and data, a free port, and only the given models. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { separate } from "../../src/cli/secret-environment.mjs";
import { workspacesInUse } from "./last-events.ts";

const project = resolve(import.meta.dirname, "../..");
/**
 * In tests, a heap that starts large saves collections, and rare optimising saves what short processes do not earn back: together
 * a tenth of a start's processor time. Either alone saves nothing. Benchmarks measure what people run.
 */
const isTest = process.env.VITEST !== undefined;
const quickStart = isTest
  ? ["--initial-heap-size=256", "--invocation-count-for-maglev=4000", "--invocation-count-for-turbofan=30000"]
  : [];

/** An agent that is ready: a process, or a part of this one (remora-in-process.ts). */
export interface RunningRemora {
  url: string;
  token: string;
  home: RemoraHome;
  stdout(): string;
  stderr(): string;
  /** As by SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

export interface RemoraProcess extends RunningRemora {
  pid: number;
  /** Resolves with the exit code when the process ends; null: by a signal. */
  exited: Promise<number | null>;
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
  workspacesInUse.add(workspace);
  return {
    workspace,
    data: join(folder, "data"),
    async remove() {
      workspacesInUse.delete(workspace);
      await rm(folder, { recursive: true, force: true });
    },
  };
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
  spawnIt: Spawn = isTest ? spawnWithoutSecrets : spawnWhole,
): Promise<RemoraProcess> {
  const child = spawnIt([...quickStart, ...(await startArguments()), ...args], environmentOf(home, env));
  onSpawn(child);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const exited = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  await waitUntilReady(child, stdout, stderr);
  return {
    ...linkIn(stdout()),
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

type Spawn = (args: string[], env: Record<string, string>) => ChildProcess;

/** As people start it: a first process hides the secrets, and replaces itself. */
export const spawnWhole: Spawn = (args, env) =>
  spawn(process.execPath, args, { cwd: project, stdio: ["ignore", "pipe", "pipe"], env });

/** Only the second process (secret-environment.mjs). The first one takes 40 ms of processor time. */
const spawnWithoutSecrets: Spawn = (args, env) => {
  const { shown, hidden } = separate(env);
  const path = join(tmpdir(), `remora-environment-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  // At a position, which leaves that of the descriptor at the start.
  writeSync(file, JSON.stringify(hidden), 0);
  try {
    return spawn(process.execPath, args, { cwd: project, stdio: [file, "pipe", "pipe"], env: shown });
  } finally {
    closeSync(file);
  }
};

/** Only what a test gives, beside folders of its own and a free port. */
export function environmentOf(home: RemoraHome, env: Record<string, string>): Record<string, string> {
  return {
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

function waitUntilReady(child: ChildProcess, stdout: () => string, stderr: () => string): Promise<void> {
  return new Promise((done, fail) => {
    child.stdout?.on("data", () => {
      if (stdout().includes("Brain")) done();
    });
    child.once("exit", (code) =>
      fail(new Error(`the process ended with ${code} before it was ready\n${stdout()}\n${stderr()}`)),
    );
  });
}

/** The address that an agent prints when it is ready, and its page's token; a worker has no page. */
export function linkIn(stdout: string): { url: string; token: string } {
  const [text] = /http:\/\/\S+(?:token=\S+|\/readyz)/.exec(stdout) ?? [];
  if (text === undefined) throw new Error(`no address in\n${stdout}`);
  const { origin, searchParams } = new URL(text);
  return { url: origin, token: searchParams.get("token") ?? "" };
}
