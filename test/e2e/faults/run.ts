/**
 * Sends the real process through faults of its chat service and through deaths, and prints a table of what was lost.
 *
 *   npm run faults                                       all faults, both services, both stores: about half an hour
 *   npm run faults -- --fault kills --service slack      only these; each option can be repeated
 *   FAULT_KILLS=20 npm run faults -- --fault kills       fewer kills for each combination
 *   npm run faults -- --out faults.jsonl                 also appends each result, with logs of what went wrong
 */
import { appendFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type Result, runFault, services, stores } from "./campaign.ts";
import { faults } from "./faults.ts";

const { values } = parseArgs({
  options: {
    fault: { type: "string", multiple: true, default: Object.keys(faults) },
    service: { type: "string", multiple: true, default: [...services] },
    store: { type: "string", multiple: true, default: [...stores] },
    out: { type: "string" },
  },
});

const columns = [
  "fault",
  "service",
  "store",
  "kills",
  "messages",
  "lost",
  "failed",
  "doubled",
  "misordered",
  "cards",
  "left",
] as const;

const combinations = services
  .flatMap((service) => stores.map((store) => ({ service, store })))
  .filter(({ service, store }) => values.service.includes(service) && values.store.includes(store));

const results: Result[] = [];
for (const name of values.fault) {
  const fault = faults[name];
  if (fault === undefined) throw new Error(`no fault ${name}: there are ${Object.keys(faults).join(", ")}`);
  // Side by side, because most of the time is waiting.
  const ended = combinations.map(async (combination) => {
    const label = `${name}, ${combination.service}, ${combination.store}`;
    const result = await runFault(combination, fault, (line) => process.stderr.write(`${label}: ${line}\n`));
    process.stderr.write(`${label}: took ${result.seconds} s\n${problemsOf(result)}`);
    results.push(result);
    if (values.out !== undefined) await appendFile(values.out, `${JSON.stringify(result)}\n`);
  });
  await Promise.all(ended);
}
process.stdout.write(tableOf(results));
if (results.some(({ lost, doubled, misordered, left }) => lost + doubled + misordered + left > 0)) process.exitCode = 1;

function problemsOf({ notes }: Result): string {
  return notes
    .filter((note) => /^(?:lost|failed|doubled|misordered|left|still)/.test(note))
    .map((note) => `  ${note.replaceAll("\n", " ")}\n`)
    .join("");
}

function tableOf(all: readonly Result[]): string {
  const row = (cells: readonly unknown[]) => `| ${cells.join(" | ")} |\n`;
  return [
    row(columns),
    row(columns.map(() => "---")),
    ...all.map((result) => row(columns.map((column) => result[column]))),
  ].join("");
}
