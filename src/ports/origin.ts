/**
 * Origins: where text in a prompt comes from. Text keeps them wherever it is stored, a prompt has those of everything in it,
 * and a call those of its prompt. The agent's instructions, its skills and its own tools have none.
 */
import { z } from "zod";

const maxNameCharacters = 120;
/** By way of what memory adds to a prompt by itself. */
export const fromMemory = "memory";
/** Kept of one text; people read them, and one is enough to ask. */
const maxOrigins = 12;

const originSchema = z.object({
  kind: z.enum(["person", "web", "file", "tool", "mcp", "attachment"]),
  /** One short line for people: `example.com/page`, `report.pdf`, `Ben`. */
  name: z.string(),
  personId: z.string().exactOptional(),
  /** By which way it came back: `memory`, `file notes.md`. */
  via: z.string().exactOptional(),
});
export const originsSchema = z.array(originSchema);

export type Origin = z.infer<typeof originSchema>;

/** What the gate is told of an outward call whose prompt held untrusted text. */
export const taintTag = "#taint:untrusted";
/** As well, unless all of it was said by people. */
export const outsideTag = "#taint:outside";

/** Which of these the person who asked has not written: all but their own words. Each once, at most `maxOrigins`. */
export function untrustedFor(origins: readonly Origin[], personId: string): Origin[] {
  return distinctOrigins(origins.filter((origin) => origin.kind !== "person" || origin.personId !== personId));
}

/** Each once; of too many, people go first, because the others say more. */
export function distinctOrigins(origins: readonly Origin[]): Origin[] {
  const byKey = new Map(origins.map((origin) => [JSON.stringify(keyOf(origin)), origin]));
  const all = [...byKey.values()];
  if (all.length <= maxOrigins) return all;
  const rank = ({ kind }: Origin) => (kind === "person" ? 1 : 0);
  return all.sort((one, other) => rank(one) - rank(other)).slice(0, maxOrigins);
}

function keyOf({ kind, name, personId, via }: Origin) {
  return [kind, personId ?? name, via];
}

export function originOf(kind: Origin["kind"], name: string): Origin {
  return { kind, name: shortName(name) };
}

export function originOfPerson({ id, name }: { id: string; name: string }): Origin {
  return { kind: "person", name: shortName(name), personId: id };
}

export function viaStore(origins: readonly Origin[], via: string): Origin[] {
  return origins.map((origin) => ({ ...origin, via: shortName(via) }));
}

export function originText({ kind, name, via }: Origin): string {
  const what = {
    person: `message of ${name}`,
    web: `web: ${name}`,
    file: `file ${name}`,
    tool: `result of ${name}`,
    mcp: `another program: ${name}`,
    attachment: `attachment ${name}`,
  }[kind];
  return via === undefined ? what : `${what} (by way of ${via})`;
}

export function originsOfHosts(hosts: readonly string[]): Origin[] {
  return hosts.length === 0 ? [] : [originOf("web", hosts.join(", "))];
}

/** By way of memory, other people's words are in nearly every prompt of a channel; with them, no grant would ever hold there. */
export function withoutRememberedPeople(origins: readonly Origin[]): Origin[] {
  return origins.filter(({ kind, via }) => kind !== "person" || via !== fromMemory);
}

export function taintTags(untrusted: readonly Origin[], isOutward: boolean): string[] {
  if (!isOutward || untrusted.length === 0) return [];
  return isFromOutside(untrusted) ? [taintTag, outsideTag] : [taintTag];
}

/** Not all of it was said by people, who could as well ask the agent themselves. */
export function isFromOutside(origins: readonly Origin[]): boolean {
  return origins.some(({ kind }) => kind !== "person");
}

function shortName(name: string): string {
  const line = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length > maxNameCharacters ? `${line.slice(0, maxNameCharacters - 1).toWellFormed()}…` : line;
}
