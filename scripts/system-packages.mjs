/**
 * Installs the system packages that the test suites need: servers, and programs that real commands run.
 *
 * As root on Debian or Ubuntu, it installs missing packages with apt. Elsewhere it prints the command to run, and the suites
 * that need them are skipped, each with its reason. With CI=true nothing can be skipped, so it fails.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const needed = [
  { command: "redis-server", package: "redis-server" },
  { command: "chromium", package: "chromium" },
  { command: "git", package: "git" },
  { command: "curl", package: "curl" },
  { command: "python3", package: "python3" },
  { command: "pip3", package: "python3-pip" },
];

const missing = needed.filter(({ command }) => !isOnPath(command)).map((need) => need.package);
if (missing.length > 0) {
  if (mayUseApt()) installWithApt(missing);
  else if (process.env.CI === "true") {
    say(`Missing: ${missing.join(", ")}. With CI=true no suite can be skipped. Install them: ${byHand(missing)}`);
    process.exit(1);
  } else {
    say(`Missing: ${missing.join(", ")}. Suites that need them are skipped. To run those too: ${byHand(missing)}`);
  }
}

function isOnPath(command) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => folder !== "" && existsSync(join(folder, command)));
}

function mayUseApt() {
  return process.getuid?.() === 0 && isOnPath("apt-get");
}

function byHand(packages) {
  return `sudo apt-get install --no-install-recommends ${packages.join(" ")}`;
}

function installWithApt(packages) {
  say(`Installing with apt for the test suites: ${packages.join(", ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync("apt-get", ["update", "-qq"], { env, stdio: "ignore" });
  try {
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], {
      env,
      stdio: ["ignore", "ignore", "inherit"],
    });
  } catch {
    say(`apt-get failed. Install them yourself: apt-get update && apt-get install ${packages.join(" ")}`);
    process.exit(1);
  }
  say("Installed.");
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
