/**
 * Installs the system packages that the test suites need: servers, and programs that real commands run.
 *
 * As root on Debian or Ubuntu, it installs missing packages with apt. Elsewhere it prints the command to run, and the suites
 * that need them are skipped, each with its reason. With CI=true nothing can be skipped, so it fails.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Without its user interface, Chromium takes half the processor time. Not every distribution has such a package. */
const lightBrowser = { commands: ["chromium-headless-shell"], package: "chromium-headless-shell" };

const needed = [
  { commands: ["redis-server"], package: "redis-server" },
  { commands: ["chromium", ...lightBrowser.commands], package: "chromium" },
  { commands: ["git"], package: "git" },
  { commands: ["curl"], package: "curl" },
  { commands: ["python3"], package: "python3" },
  { commands: ["pip3"], package: "python3-pip" },
];

if (mayUseApt() && isMissing(lightBrowser)) installWithApt([lightBrowser.package]);
const missing = needed.filter(isMissing).map((need) => need.package);
if (missing.length > 0) {
  if (mayUseApt()) {
    if (!installWithApt(missing)) {
      say(`apt-get failed. Install them yourself: apt-get update && apt-get install ${missing.join(" ")}`);
      process.exit(1);
    }
  } else if (process.env.CI === "true") {
    say(`Missing: ${missing.join(", ")}. With CI=true no suite can be skipped. Install them: ${byHand(missing)}`);
    process.exit(1);
  } else {
    say(`Missing: ${missing.join(", ")}. Suites that need them are skipped. To run those too: ${byHand(missing)}`);
  }
}

function isMissing({ commands }) {
  return !commands.some(isOnPath);
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

/** Returns whether they are installed. */
function installWithApt(packages) {
  say(`Installing with apt for the test suites: ${packages.join(", ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync("apt-get", ["update", "-qq"], { env, stdio: "ignore" });
  const args = ["install", "-y", "-qq", "--no-install-recommends", ...packages];
  const { status } = spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"] });
  say(status === 0 ? "Installed." : "That failed.");
  return status === 0;
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
