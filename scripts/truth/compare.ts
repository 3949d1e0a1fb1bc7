/** Compares what the SDKs say now with what they said when somebody last looked. */
import type { Fact } from "./facts.ts";
import type { Names, Reading } from "./read-facts.ts";

export type TruthRecord = Pick<Reading, "versions" | "facts" | "deprecatedUses">;

/** In the file, the names of a type stand together by their state, so that it stays small: `{ "": "a b", "deprecated": "c" }`. */
export function recordIn(file: string): TruthRecord {
  const { facts, ...rest } = JSON.parse(file) as Omit<TruthRecord, "facts"> & { facts: Grouped };
  const unpack = (states: Record<string, string>): Names =>
    Object.fromEntries(
      Object.entries(states).flatMap(([state, names]) => names.split(" ").map((name) => [name, state] as const)),
    );
  return { ...rest, facts: mapTypes(facts, unpack) };
}

export function fileOf({ versions, deprecatedUses, facts }: TruthRecord): string {
  const pack = (names: Names): Record<string, string> => {
    const states = Object.groupBy(Object.keys(names).sort(), (name) => names[name] ?? "");
    return Object.fromEntries(Object.entries(states).map(([state, of = []]) => [state, of.join(" ")]));
  };
  return `${JSON.stringify({ versions, deprecatedUses, facts: mapTypes(facts, pack) }, null, 2)}\n`;
}

type Grouped = Record<string, Record<string, Record<string, string>>>;

function mapTypes<From, To>(facts: Record<string, Record<string, From>>, map: (from: From) => To) {
  const mapped = Object.entries(facts).map(([sdk, types]) => {
    const entries = Object.entries(types).map(([type, names]) => [type, map(names)] as const);
    return [sdk, Object.fromEntries(entries)] as const;
  });
  return Object.fromEntries(mapped);
}

export interface Finding {
  /** Something of ours fails or will fail. */
  isOurs: boolean;
  text: string;
}

export function compare(record: TruthRecord, now: Reading, facts: readonly Fact[]): Finding[] {
  return [
    ...now.misfits.map((text) => ({ isOurs: true, text: `our code does not fit: ${text}` })),
    ...now.deprecatedUses
      .filter((use) => !record.deprecatedUses.includes(use))
      .map((text) => ({ isOurs: true, text: `our code uses what is deprecated: ${text}` })),
    ...facts.flatMap((fact) => changesOf(fact, record.facts[fact.sdk]?.[fact.type], now.facts[fact.sdk]?.[fact.type])),
  ];
}

function changesOf(fact: Fact, before: Names = {}, now: Names | undefined): Finding[] {
  if (now === undefined) return [{ isOurs: fact.uses.length > 0, text: `${fact.type} is gone (${fact.at})` }];
  const names = [...new Set([...Object.keys(before), ...fact.uses, ...Object.keys(now)])];
  const changes = names.flatMap((name) => {
    const change = changeOf(before[name], now[name]);
    // A new name that is in use was in use before the SDK knew it.
    return change === undefined ? [] : [{ name, change, isOurs: fact.uses.includes(name) && change !== "new" }];
  });
  return [...Map.groupBy(changes, ({ change, isOurs }) => `${isOurs ? "we use" : ""}|${change}`).values()].map(
    (same) => {
      const [{ change, isOurs } = { change: "", isOurs: false }] = same;
      return { isOurs, text: `${fact.type}, ${change}: ${same.map(({ name }) => name).join(", ")} (${fact.at})` };
    },
  );
}

function changeOf(before: string | undefined, now: string | undefined): string | undefined {
  if (now === undefined) return "gone";
  if (before === now) return undefined;
  if (before === undefined) return now === "" ? "new" : `new and ${now}`;
  return now === "" ? `no longer ${before}` : now;
}

/** Ours first, because those are why the command fails. */
export function reportOf(record: TruthRecord, now: Reading, findings: readonly Finding[]): string {
  const versions = Object.entries(now.versions).map(([sdk, version]) => {
    const before = record.versions[sdk];
    return before === version ? `${sdk} ${version}` : `${sdk} ${before ?? "none"} → ${version}`;
  });
  const part = (title: string, isOurs: boolean) => {
    const lines = findings.filter((finding) => finding.isOurs === isOurs).map(({ text }) => `  ${text}`);
    return lines.length === 0 ? [] : [`\n${title}`, ...lines];
  };
  const parts = [...part("Fails or will fail with our code:", true), ...part("Changed, and may be of use:", false)];
  return [`Compared: ${versions.join(", ")}`, ...(parts.length === 0 ? ["Nothing has changed."] : parts)].join("\n");
}
