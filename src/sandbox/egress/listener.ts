/** Opens a listening socket in a view's network namespace so that only the view can reach it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readlink } from "node:fs/promises";
import { Server } from "node:net";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { RemoraError } from "../../lib/errors.ts";
import { maxListenMs } from "./limits.ts";

export interface ViewListener {
  server: Server;
  port: number;
}

const helper = fileURLToPath(new URL("./listen.mjs", import.meta.url));
const maxErrorCharacters = 2_000;
const replySchema = z.union([
  z.object({ error: z.string() }),
  z.object({ port: z.number().int(), namespace: z.string() }),
]);
const loopbackDown =
  "its loopback is down, and none of ip, busybox, ifconfig, perl and python3 could bring it up: install iproute2";

/** `pid` must be in the view's network namespace and in the user namespace that owns it, not in a nested one. */
export async function openListener(pid: number, signal: AbortSignal): Promise<ViewListener> {
  signal.throwIfAborted();
  const child = spawn(
    "nsenter",
    ["--target", String(pid), "--user", "--net", "--preserve-credentials", process.execPath, helper],
    // The helper runs beside the command, so it must not get Remora's environment variables.
    { stdio: ["ignore", "ignore", "pipe", "ipc"], env: { PATH: searchPath() }, serialization: "json" },
  );
  const { port, namespace, server } = await listening(child, signal);
  // If the view has just ended, another process may have its pid.
  if (namespace === (await readlink("/proc/self/ns/net"))) {
    server.close();
    throw problem(`process ${pid} is not in a network namespace of its own`);
  }
  return { port, server };
}

function listening(child: ChildProcess, signal: AbortSignal): Promise<ViewListener & { namespace: string }> {
  return new Promise((resolve, reject) => {
    let errors = "";
    const fail = (what: string, cause?: unknown) => {
      settle();
      reject(problem(what, cause));
    };
    const stop = () => {
      settle();
      reject(signal.reason);
    };
    const timer = setTimeout(() => fail(`it took longer than ${maxListenMs / 1_000} s`), maxListenMs);
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      child.removeAllListeners("close");
      child.kill("SIGKILL");
    };
    child.stderr?.on("data", (chunk) => {
      if (errors.length < maxErrorCharacters) errors += chunk;
    });
    child.on("error", (thrown) => fail("nsenter did not start: install util-linux", thrown));
    child.once("close", () => fail(errors.trim() || "the helper ended without an answer"));
    child.once("message", (message, handle) => {
      const reply = replySchema.safeParse(message);
      if (!reply.success) return fail("the helper gave no valid answer");
      if ("error" in reply.data) return fail(reply.data.error === "loopback" ? loopbackDown : reply.data.error);
      if (!(handle instanceof Server)) return fail("the helper passed no socket");
      settle();
      resolve({ ...reply.data, server: handle });
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** On some distributions, util-linux and iproute2 are only in the system folders. */
function searchPath(): string {
  return [process.env.PATH ?? "", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].join(":");
}

function problem(what: string, cause?: unknown): RemoraError {
  return new RemoraError({
    code: "egress.listen",
    place: "sandbox network",
    message: `the proxy can't listen inside the view: ${what}`,
    cause,
  });
}
