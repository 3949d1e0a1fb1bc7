/**
 * An MCP server as a program: `node mcp-server.ts '{"start": …}'`. Values of `start`:
 *
 *   absent     works normally (mcp-server-tools.ts)
 *   silent     never writes anything
 *   noisy      writes invalid messages to standard output and much to standard error, but works
 *   broken     writes an error to standard error and exits
 *   stubborn   ignores the end of its input and SIGTERM, and has a child; their ids go to `pids`
 *   detached   as stubborn, and a grandchild with a session of its own, whose parent has ended, goes to `pids` as well
 *   unbroken   writes an endless line
 *   strict     exits unless the first message is `initialize`, like some old servers
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import type { TestServerOptions } from "./mcp-server-tools.ts";

interface ProgramOptions extends TestServerOptions {
  start?: "silent" | "noisy" | "broken" | "stubborn" | "detached" | "unbroken" | "strict";
  pids?: string;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ProgramOptions;

/** Loading the SDK is most of a start, so the first server leaves it compiled for the others. */
async function speak(): Promise<void> {
  enableCompileCache();
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  const { createTestServer } = await import("./mcp-server-tools.ts");
  flushCompileCache();
  await createTestServer(options).connect(new StdioServerTransport());
}

switch (options.start) {
  case "silent":
    process.stdin.resume();
    break;
  case "broken":
    process.stderr.write("the database is not there\n");
    process.exit(3);
    break;
  case "noisy":
    process.stdout.write('starting up…\n{"no": "message"}\n\u0000\u0001\n[]\n');
    process.stderr.write(`${"a line of a log\n".repeat(5_000)}${"x".repeat(2_000_000)}`);
    await speak();
    break;
  case "unbroken": {
    const write = () => process.stdout.write("x".repeat(100_000), write);
    write();
    break;
  }
  case "stubborn":
  case "detached": {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1_000);
    const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
    appendFileSync(options.pids ?? "", `${process.pid}\n${child.pid}\n`);
    const lasting = 'trap "" TERM HUP; echo $$ >> "$0"; while :; do sleep 1; done';
    if (options.start === "detached")
      spawn("/bin/sh", ["-c", `setsid sh -c '${lasting}' "$0" &`, options.pids ?? ""], { stdio: "inherit" });
    await speak();
    break;
  }
  case "strict":
    process.stdin.once("data", (chunk) => {
      if (!String(chunk).includes('"initialize"')) process.exit(4);
    });
    await speak();
    break;
  default:
    await speak();
}
