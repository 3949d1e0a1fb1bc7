/**
 * Compares the SDKs of the services, as npm has them today, with what our code and doubles rely on:
 *
 *   npm run truth                 names what is new, gone or deprecated since the last time; fails if it is something we use
 *   npm run truth -- --installed  the same for the SDKs that are installed, without the network
 *   npm run truth -- --accept     also records the new state in scripts/truth/record.json
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { compare, fileOf, recordIn, reportOf } from "./compare.ts";
import { facts, onlyRead, sdks } from "./facts.ts";
import { packageOf, type Reading, readFacts } from "./read-facts.ts";

const root = resolve(import.meta.dirname, "../..");
const recordFile = join(import.meta.dirname, "record.json");

function readNewest(): Reading {
  const folder = mkdtempSync(join(tmpdir(), "remora-truth-"));
  try {
    const names = Object.keys(sdks).map((sdk) => `${packageOf(sdk)}@latest`);
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    execFileSync("npm", ["install", "--prefix", folder, ...flags, ...names], { stdio: "inherit" });
    return readFacts({ folder, root, sources: ["src"], sdks, facts });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without what is never installed. */
function readInstalled(): Reading {
  const installed = Object.fromEntries(Object.entries(sdks).filter(([sdk]) => !onlyRead.includes(sdk)));
  return readFacts({ folder: root, root, sources: ["src"], sdks: installed, facts: listed });
}

const options = { accept: { type: "boolean" }, installed: { type: "boolean" } } as const;
const { values } = parseArgs({ options });
if (values.installed && values.accept) throw new Error("Only the newest SDKs can be recorded: leave out --installed.");
const listed = values.installed === true ? facts.filter(({ sdk }) => !onlyRead.includes(sdk)) : facts;
const now = values.installed === true ? readInstalled() : readNewest();
const record = recordIn(readFileSync(recordFile, "utf8"));
const findings = compare(record, now, listed);
console.log(reportOf(record, now, findings));
if (values.accept === true) {
  writeFileSync(recordFile, fileOf(now));
  console.log("\nRecorded in scripts/truth/record.json.");
} else if (findings.some(({ isOurs }) => isOurs)) process.exitCode = 1;
