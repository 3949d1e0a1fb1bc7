/**
 * Brings node_modules up to date with package-lock.json, before any script that needs it.
 *
 * Plain JavaScript without dependencies that runs on Node 18 and up, because it is what makes the rest possible: the
 * packages, and a current `node` for machines whose own is older. When nothing has changed it costs a few milliseconds.
 *
 *   node scripts/bootstrap.mjs            run time only
 *   node scripts/bootstrap.mjs --dev      with what tests and checks need
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const wantsDev = process.argv.includes("--dev");
const stampFile = join(root, "node_modules", ".remora-install.json");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

if (!isCurrent()) await install();

/** An install with development packages also serves a plain start; the other way round it does not. */
function isCurrent() {
  try {
    const stamp = JSON.parse(readFileSync(stampFile, "utf8"));
    return stamp.lock === wanted && (stamp.dev || !wantsDev) && hasCurrentNode();
  } catch {
    return false;
  }
}

/** The scripts' `node` is the one in node_modules/.bin when it is there, else the machine's own. */
function hasCurrentNode() {
  return existsSync(join(root, "node_modules", ".bin", "node")) || isRecent(process.versions.node);
}

function isRecent(version) {
  const [major = 0] = version.split(".").map(Number);
  return major >= 24;
}

async function install() {
  const began = Date.now();
  say(`Installing packages${wantsDev ? " (with those for development)" : ""}, once for this version …`);
  rmSync(stampFile, { force: true });
  // Install scripts stay off: no package needs one here but `node`, which unpacks its binary in the next command.
  // Peers that are needed are named in package.json; the others are types for development.
  const omitted = wantsDev ? [] : ["--omit=dev", "--omit=peer"];
  await npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...omitted]);
  if (!wantsDev) trim();
  if (existsSync(join(root, "node_modules", "node", "package.json"))) {
    await npm(["rebuild", "node", "--ignore-scripts=false", "--foreground-scripts"]);
  }
  if (!hasCurrentNode()) {
    throw fail(
      `Node ${process.versions.node} is too old and the package "node" could not bring a newer one. Install Node 24 or later.`,
    );
  }
  writeFileSync(stampFile, JSON.stringify({ lock: wanted, dev: wantsDev }));
  say(`Installed in ${Math.round((Date.now() - began) / 1000)} s.`);
}

/** Removes what Node never reads, which is half of what packages bring: type declarations, source maps, change logs. */
function trim() {
  const modules = join(root, "node_modules");
  for (const name of readdirSync(modules, { recursive: true })) {
    if (/\.(?:d\.[cm]?ts|map)$|(?:README|CHANGELOG|HISTORY)\.md$/i.test(name))
      rmSync(join(modules, name), { force: true });
  }
}

/** Runs npm quietly, saying every few seconds that it is still at it; its whole output is shown when it fails. */
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
    const ticker = setInterval(() => say(`  npm ${args[0]} … ${Math.round((Date.now() - began) / 1000)} s`), 3_000);
    const end = (problem) => {
      clearInterval(ticker);
      if (problem === undefined) resolve();
      else reject(fail(`npm ${args.join(" ")} ${problem}\n${output}`));
    };
    child.on("error", (error) => end(`could not be started: ${error.message}`));
    child.on("close", (code) =>
      end(
        code === 0
          ? undefined
          : `ended with exit code ${code}. Is the npm registry reachable, and is there room on the disk?`,
      ),
    );
  });
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text) {
  say(`[install] ${text}`);
  process.exitCode = 1;
  return new Error("The installation did not finish.");
}
