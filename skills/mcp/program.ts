/**
 * Connects the MCP client to a program on this machine, with one message per line on standard input and output. The
 * program's environment contains only basic variables of this machine and those from its settings. The program and its
 * everything that it has started end together: first its input is closed, then they get signals. They end with this process
 * too, even if it is killed. A flood of output is read more slowly (pace.ts), and invalid messages are skipped.
 */
import { StringDecoder } from "node:string_decoder";
import {
  ReadBuffer,
  SdkError,
  SdkErrorCode,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { execa } from "execa";
import { type MarkedProgram, markProgram } from "../../src/plugin-sdk/marked-programs.ts";
import { createPace } from "./pace.ts";
import { OwnReason } from "./session.ts";

export interface ProgramOptions {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  onLine(line: string): void;
}

/** `pid` and `stderr` tell the MCP client that this is a local program, which may ignore unknown requests. */
export interface ProgramTransport extends Transport {
  readonly pid: number | null;
  readonly stderr: null;
}

type Running = ReturnType<typeof startProgram>;

/** Milliseconds from closing a program's input to SIGTERM and to SIGKILL. */
const patience = { beforeAsking: 300, beforeKilling: 1_000 };
const maxLineLength = 4_000;

export function createProgramTransport(options: ProgramOptions): ProgramTransport {
  let program: Running | undefined;
  let marked: MarkedProgram | undefined;
  let closing: Promise<void> | undefined;
  const received = new ReadBuffer();
  const pieces: Buffer[] = [];
  let bytes = 0;

  /** Joins the pieces of a long line first, because the buffer copies and searches all it has each time it gets one. */
  const receive = (chunk: Buffer): number => {
    pieces.push(chunk);
    bytes += chunk.length;
    if (!chunk.includes("\n") && bytes <= STDIO_DEFAULT_MAX_BUFFER_SIZE) return 0;
    const joined = Buffer.concat(pieces.splice(0));
    bytes = 0;
    try {
      received.append(joined);
    } catch (thrown) {
      // The message is too long, and the stream can't recover.
      transport.onerror?.(asError(thrown));
      void transport.close();
      return 0;
    }
    return deliver(received, transport);
  };

  const transport: ProgramTransport = {
    stderr: null,
    get pid() {
      return program?.pid ?? null;
    },
    async start() {
      const mark = markProgram();
      const started = startProgram(options, mark.variables);
      const spawned = new Promise<undefined>((resolve) =>
        started.nodeChildProcess.once("spawn", () => resolve(undefined)),
      );
      const failure = await Promise.race([spawned, started]);
      if (failure !== undefined) {
        await mark.end();
        throw notStarted(options, failure.code);
      }
      [program, marked] = [started, mark];
      // Kill what the program left behind, because it would keep the output open forever.
      started.nodeChildProcess.once("exit", () => {
        started.kill("SIGKILL");
        void mark.end();
      });
      void started.finally(() => transport.onclose?.());
      started.stdin.on("error", (error) => transport.onerror?.(error));
      readPaced(started.stdout, receive);
      readPaced(started.stderr, lineReader(options.onLine));
    },
    async send(message) {
      if (program === undefined || closing !== undefined || !program.stdin.writable) {
        throw new SdkError(SdkErrorCode.NotConnected, "the program is not running");
      }
      if (!program.stdin.write(serializeMessage(message))) await drained(program);
    },
    async close() {
      if (program === undefined || marked === undefined) return;
      closing ??= end(program, marked);
      await closing;
    },
  };
  return transport;
}

/** Omits the arguments, because they may contain secrets. */
function notStarted({ command, cwd }: ProgramOptions, code = "unknown error"): Error {
  return new OwnReason(
    `${command} can't be started (${code}): check that it is installed and that the folder ${cwd} exists`,
  );
}

function startProgram({ command, args, env, cwd }: ProgramOptions, mark: Record<string, string>) {
  return execa(command, args, {
    cwd,
    env: { ...getDefaultEnvironment(), ...surroundings(), ...env, ...mark },
    extendEnv: false,
    stdin: "pipe",
    buffer: false,
    reject: false,
    encoding: "buffer",
    killDescendants: true,
    // When this process exits, it can't wait for the program to end.
    killSignal: "SIGKILL",
  });
}

/** Omits proxy variables, because they may contain a password. */
function surroundings(): Record<string, string> {
  const names = ["LANG", "LC_ALL", "TZ", "TMPDIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];
  const values = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function deliver(received: ReadBuffer, transport: Transport): number {
  for (let count = 0; ; count += 1) {
    try {
      const message = received.readMessage();
      if (message === null) return count;
      transport.onmessage?.(message);
    } catch (thrown) {
      transport.onerror?.(asError(thrown));
    }
  }
}

function readPaced(stream: NodeJS.ReadableStream, onChunk: (chunk: Buffer) => number): void {
  const pace = createPace();
  stream.on("data", (chunk: Buffer) => {
    const wait = pace(chunk.length, onChunk(chunk));
    if (wait === 0) return;
    stream.pause();
    setTimeout(() => stream.resume(), wait);
  });
}

/** Truncates long lines as they arrive so that an endless line is never stored. */
function lineReader(onLine: (line: string) => void): (chunk: Buffer) => number {
  const decoder = new StringDecoder();
  let rest = "";
  return (chunk) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    const lines = [rest + first.slice(0, maxLineLength), ...others];
    rest = (lines.pop() ?? "").slice(0, maxLineLength);
    for (const line of lines) if (line.trim() !== "") onLine(whole(line).trimEnd());
    return lines.length;
  };
}

/** The last word of a line that is too long may be half a secret. */
function whole(line: string): string {
  return line.length < maxLineLength ? line : line.slice(0, maxLineLength).replace(/\S*$/, "…");
}

async function drained({ stdin, nodeChildProcess }: Running): Promise<void> {
  await new Promise<void>((resolve) => {
    stdin.once("drain", resolve);
    nodeChildProcess.once("exit", () => resolve());
  });
}

async function end(program: Running, marked: MarkedProgram): Promise<void> {
  program.stdin.end();
  const ask = setTimeout(() => program.kill("SIGTERM"), patience.beforeAsking);
  const force = setTimeout(() => {
    program.kill("SIGKILL");
    void marked.end();
  }, patience.beforeKilling);
  await program;
  clearTimeout(ask);
  clearTimeout(force);
  await marked.end();
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
