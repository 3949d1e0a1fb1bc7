/**
 * Marks a program that this process starts, so that neither it nor what it starts outlives this process, whatever it does to
 * its group, session or parent. A watcher, a shell that waits for the end of its input, ends all of it when this process is
 * killed. If the watcher is killed as well, the next start does it (`endOrphans`).
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { endMarked, markVariable, ownMark } from "./marked-processes.mjs";

export interface MarkedProgram {
  /** For the program's environment. */
  variables: Record<string, string>;
  /** Ends what is left of the program. Must not reject. May be called again. */
  end(): Promise<void>;
}

const file = fileURLToPath(new URL("./marked-processes.mjs", import.meta.url));
/** Stopping a service signals all its processes, and the watcher must be the last. */
const watching = `trap "" INT TERM HUP; read -r _; exec "$0" "$@"`;

export function markProgram(): MarkedProgram {
  const mark = `${ownMark()}${randomBytes(6).toString("hex")}/`;
  const watcher = spawn("/bin/sh", ["-c", watching, process.execPath, file, mark], {
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.on("error", () => {});
  watcher.unref();
  // With too many open files, Node does not set it.
  const input = watcher.stdin as Socket | undefined;
  input?.on("error", () => {});
  input?.unref();
  return {
    variables: { [markVariable]: mark },
    async end() {
      await endMarked(mark);
      watcher.kill("SIGKILL");
    },
  };
}
