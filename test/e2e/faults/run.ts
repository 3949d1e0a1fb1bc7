/**
 * Sends the real process through faults of its chat service and through deaths, and prints a Markdown row for each fault.
 *
 *   npm run faults                                             everything, one service and store after the other: an hour
 *   npm run faults -- --service slack --store redis            all faults for one of them: about a quarter of an hour
 *   npm run faults -- --service slack --store redis --minutes 8    the same in 8 minutes: faster clocks, fewer kills
 *   npm run faults -- --fault kills --kills 20                 only this fault; fault, service and store can be repeated
 *   npm run faults -- --out faults.jsonl                       also appends each result, with logs of what went wrong
 *
 * Without --minutes, the outages last as long as they say, but for two hours, which take six minutes.
 */
import { appendFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type Combination, type Result, runFault, services, stores } from "./campaign.ts";
import { createFaults, type Fault } from "./faults.ts";

const minute = 60_000;
/** Until everything has come to rest after a fault. */
const restMinutes = 0.5;

const { values } = parseArgs({
  options: {
    fault: { type: "string", multiple: true },
    service: { type: "string", multiple: true, default: [...services] },
    store: { type: "string", multiple: true, default: [...stores] },
    kills: { type: "string", default: "130" },
    minutes: { type: "string" },
    out: { type: "string" },
  },
});

const columns = [
  "fault",
  "service",
  "store",
  "kills",
  "seconds",
  "messages",
  "lost",
  "failed",
  "doubled",
  "misordered",
  "cards",
  "left",
  "open",
] as const;

const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
const faults = createFaults({
  maxOutageMs: Math.min(6, minutes / 3) * minute,
  kills: Number(values.kills),
  // Kills come last, and the groups before them take a third and a quarter of the time.
  forMs: Math.max(1, values.fault === undefined ? minutes / 3 - restMinutes : minutes - restMinutes) * minute,
});
const wanted = (values.fault ?? Object.keys(faults)).map((name) => {
  const fault = faults[name];
  if (fault === undefined) throw new Error(`no fault ${name}: there are ${Object.keys(faults).join(", ")}`);
  return fault;
});
const combinations = services
  .flatMap((service) => stores.map((store) => ({ service, store })))
  .filter(({ service, store }) => values.service.includes(service) && values.store.includes(store));

const row = (cells: readonly unknown[]) => process.stdout.write(`| ${cells.join(" | ")} |\n`);
row(columns);
row(columns.map(() => "---"));
for (const combination of combinations) {
  const groups = (["long", "short", "kills"] as const).map((group) => wanted.filter((fault) => fault.group === group));
  for (const group of groups) await Promise.all(group.map((fault) => runOne(combination, fault)));
}

async function runOne(combination: Combination, fault: Fault): Promise<void> {
  const label = `${fault.name}, ${combination.service}, ${combination.store}`;
  const result = await runFault(combination, fault, (line) => process.stderr.write(`${label}: ${line}\n`));
  process.stderr.write(problemsOf(result));
  row(columns.map((column) => result[column]));
  if (values.out !== undefined) await appendFile(values.out, `${JSON.stringify(result)}\n`);
  const { lost, doubled, misordered, left, open } = result;
  if (lost + doubled + misordered + left + open > 0) process.exitCode = 1;
}

function problemsOf({ notes }: Result): string {
  return notes
    .filter((note) => /^(?:lost|failed|doubled|misordered|left|still)/.test(note))
    .map((note) => `  ${note.replaceAll("\n", " ")}\n`)
    .join("");
}
