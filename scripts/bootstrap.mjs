/**
 * Brings node_modules up to date with package-lock.json, before any script that needs it.
 *
 * Plain JavaScript without dependencies, for Node 18 and up: it installs the packages, and a current `node` on machines with
 * an older one. It takes a few milliseconds if nothing has changed.
 *
 *   node scripts/bootstrap.mjs            run time only
 *   node scripts/bootstrap.mjs --dev      also packages for tests and checks
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const clearLine = "\r\u001b[K";
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const wantsDev = process.argv.includes("--dev");
const stampFile = join(root, "node_modules", ".remora-install.json");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

if (!isCurrent()) await install();

/** An install with development packages also suits a plain start, but not the other way round. */
function isCurrent() {
  try {
    const stamp = JSON.parse(readFileSync(stampFile, "utf8"));
    return stamp.lock === wanted && (stamp.dev || !wantsDev) && hasCurrentNode();
  } catch {
    return false;
  }
}

/** npm scripts run the `node` of node_modules/.bin if it exists, otherwise the machine's. */
function hasCurrentNode() {
  return existsSync(join(root, "node_modules", ".bin", "node")) || isRecent(process.versions.node);
}

function isRecent(version) {
  const [major = 0] = version.split(".").map(Number);
  return major >= 24;
}

async function install() {
  const began = Date.now();
  say(`Installing packages${wantsDev ? " (including development packages)" : ""}, once for this version …`);
  rmSync(stampFile, { force: true });
  // Install scripts stay off. Only `node` needs its own, which unpacks the binary; the next command runs it.
  // package.json names the peers that are needed; the others are types for development.
  const omitted = wantsDev ? [] : ["--omit=dev", "--omit=peer"];
  await npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...omitted]);
  if (!wantsDev) trim();
  if (existsSync(join(root, "node_modules", "node", "package.json"))) {
    await npm(["rebuild", "node", "--ignore-scripts=false", "--foreground-scripts"]);
  }
  if (!hasCurrentNode()) {
    throw fail(
      `Node ${process.versions.node} is too old, and the package "node" did not install a newer one. Install Node 24 or later.`,
    );
  }
  writeFileSync(stampFile, JSON.stringify({ lock: wanted, dev: wantsDev }));
  say(`Installed in ${Math.round((Date.now() - began) / 1000)} s.`);
}

/** Removes files that Node never reads, about half of the packages: type declarations, source maps, change logs. */
function trim() {
  const modules = join(root, "node_modules");
  for (const name of readdirSync(modules, { recursive: true })) {
    if (/\.(?:d\.[cm]?ts|map)$|(?:README|CHANGELOG|HISTORY)\.md$/i.test(name))
      rmSync(join(modules, name), { force: true });
  }
}

/** Runs npm with progress lines every few seconds. Shows its whole output only if it fails. */
function npm(args) {
  return new Promise((resolve, reject) => {
    const began = Date.now();
    const child = spawn(process.platform === "win32" ? "npm.cmd" : "npm", args, {
      cwd: root,
      env: { ...process.env, NODE_ENV: "" },
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    const ticker = setInterval(
      () => showProgress(`  npm ${args[0]} … ${Math.round((Date.now() - began) / 1000)} s`),
      3_000,
    );
    const end = (problem) => {
      clearInterval(ticker);
      if (process.stderr.isTTY) process.stderr.write(clearLine);
      if (problem === undefined) resolve();
      else reject(fail(`npm ${args.join(" ")} ${problem}\n${output}`));
    };
    child.on("error", (error) => end(`did not start: ${error.message}`));
    child.on("close", (code) =>
      end(
        code === 0
          ? undefined
          : `failed with exit code ${code}. Check that the npm registry is reachable and the disk has space.`,
      ),
    );
  });
}

/** On a terminal, one line that changes. In a log, a line each time. */
function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`${clearLine}${text}`);
  else say(text);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text) {
  say(`[install] ${text}`);
  process.exitCode = 1;
  return new Error("The installation did not finish.");
}
