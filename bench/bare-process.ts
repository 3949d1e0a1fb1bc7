/** Starts a baseline bot in a process of its own. */
import { spawn } from "node:child_process";
import { join } from "node:path";

export interface BareProcess {
  pid: number;
  /** What it printed first; the page's bot prints its address. */
  url: string;
  kill(): void;
}

/** Resolves when it is ready, that is, when it has printed a line. */
export async function startBareBot(platform: "page" | "slack" | "discord", env: Record<string, string>) {
  const file = platform === "page" ? "bare-bot.ts" : `bare-${platform}.ts`;
  const child = spawn(process.execPath, [join(import.meta.dirname, file)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((ready) => child.stdout.once("data", (line) => ready(String(line).trim())));
  const bare: BareProcess = { pid: child.pid ?? 0, url, kill: () => child.kill("SIGKILL") };
  return bare;
}
