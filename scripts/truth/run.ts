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
import { compare, reportOf, type TruthRecord } from "./compare.ts";
import { facts, sdks } from "./facts.ts";
import { type Reading, readFacts } from "./read-facts.ts";

const root = resolve(import.meta.dirname, "../..");
const recordFile = join(import.meta.dirname, "record.json");

function readNewest(): Reading {
  const folder = mkdtempSync(join(tmpdir(), "remora-truth-"));
  try {
    const names = Object.keys(sdks).map((sdk) => `${sdk}@latest`);
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    execFileSync("npm", ["install", "--prefix", folder, ...flags, ...names], { stdio: "inherit" });
    return read(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function read(folder: string): Reading {
  return readFacts({ folder, root, sources: ["src"], sdks, facts });
}

const options = { accept: { type: "boolean" }, installed: { type: "boolean" } } as const;
const { values } = parseArgs({ options });
const now = values.installed === true ? read(root) : readNewest();
const record: TruthRecord = JSON.parse(readFileSync(recordFile, "utf8"));
const findings = compare(record, now, facts);
console.log(reportOf(record, now, findings));
if (values.accept === true) {
  const { versions, deprecatedUses } = now;
  writeFileSync(recordFile, `${JSON.stringify({ versions, deprecatedUses, facts: now.facts }, null, 2)}\n`);
  console.log("\nRecorded in scripts/truth/record.json.");
} else if (findings.some(({ isOurs }) => isOurs)) process.exitCode = 1;
