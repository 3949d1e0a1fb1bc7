/**
 * An origin says where text in a prompt comes from. Text keeps its origins wherever it is stored. A call has the
 * origins of everything in its prompt. The agent's instructions, skills and own tools have none.
 */
const maxNameCharacters = 120;
/** The `via` of text that memory adds to a prompt automatically. */
export const fromMemory = "memory";
/** Limits what people have to read. A single origin is enough to require approval. */
const maxOrigins = 12;

/** `place` stands for messages of a channel that not everybody can read. */
const kinds = ["person", "bot", "web", "file", "tool", "mcp", "attachment", "place"] as const;

/** A type, not an interface, because only types are JSON to TypeScript. */
export type Origin = {
  kind: (typeof kinds)[number];
  /** One short line for people: `example.com/page`, `report.pdf`, `Ben`. */
  name: string;
  personId?: string;
  /** Where the text was stored before it reached the prompt, such as `memory` or `file notes.md`. */
  via?: string;
};

/** For stored origins. Without a schema library, because the search thread would need it for nothing else. */
export function isOrigins(value: unknown): value is Origin[] {
  return Array.isArray(value) && value.every(isOrigin);
}

function isOrigin(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, personId = "", via = "" } = value as Record<string, unknown>;
  const areTexts = [name, personId, via].every((text) => typeof text === "string");
  return areTexts && kinds.some((known) => known === kind);
}

/** The gate's tag for a call that sends something out and whose prompt contained untrusted text. */
export const taintTag = "#taint:untrusted";
/** Added to `taintTag` if some of the untrusted text did not come from people. */
export const outsideTag = "#taint:outside";

/** Leaves out the requester's own words. */
export function untrustedFor(origins: readonly Origin[], personId: string): Origin[] {
  return distinctOrigins(origins.filter((origin) => origin.kind !== "person" || origin.personId !== personId));
}

/** Removes duplicates. Above the limit, drops people first and places last, because their names decide the most. */
export function distinctOrigins(origins: readonly Origin[]): Origin[] {
  const byKey = new Map(origins.map((origin) => [JSON.stringify(keyOf(origin)), origin]));
  const all = [...byKey.values()];
  if (all.length <= maxOrigins) return all;
  const rank = ({ kind }: Origin) => (kind === "person" ? 2 : kind === "place" ? 0 : 1);
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
    bot: `message of the bot ${name}`,
    web: `web: ${name}`,
    file: `file ${name}`,
    tool: `result of ${name}`,
    mcp: `another program: ${name}`,
    attachment: `attachment ${name}`,
    place: `${name}, which not everybody can read`,
  }[kind];
  return via === undefined ? what : `${what} (by way of ${via})`;
}

export function originsOfHosts(hosts: readonly string[]): Origin[] {
  return hosts.length === 0 ? [] : [originOf("web", hosts.join(", "))];
}

/** Nearly every prompt in a channel contains people's words from memory, so otherwise grants would never apply. */
export function withoutRememberedPeople(origins: readonly Origin[]): Origin[] {
  return origins.filter(({ kind, via }) => kind !== "person" || via !== fromMemory);
}

export function taintTags(untrusted: readonly Origin[], isOutward: boolean): string[] {
  if (!isOutward || untrusted.length === 0) return [];
  return isFromOutside(untrusted) ? [taintTag, outsideTag] : [taintTag];
}

/** True if some text is not from people. People don't count, because they could ask the agent themselves. */
export function isFromOutside(origins: readonly Origin[]): boolean {
  return origins.some(({ kind }) => kind !== "person");
}

function shortName(name: string): string {
  const line = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length > maxNameCharacters ? `${line.slice(0, maxNameCharacters - 1).toWellFormed()}…` : line;
}

const maxPlainNames = 3;
const maxPlainLetters = 16;
const endings = "md|txt|csv|json|xml|ya?ml|html?|css|[cm]?[jt]sx?|py|log|pdf|png|jpe?g|gif|svg|zip|docx|xlsx|pptx";
const plainName = new RegExp(`^\\.?([A-Za-z]{1,8})\\d{0,2}(?:\\.(?:${endings}))?$`);

/**
 * Whether names say too little to tell anybody what to do: at most three together, each of one short word, perhaps with a
 * number and the ending of an ordinary file. Whoever chose them could not put an instruction into them.
 */
export function areFewPlainNames(names: readonly string[]): boolean {
  const words = names.map((name) => plainName.exec(name)?.[1]);
  const letters = words.reduce((sum, word = "") => sum + word.length, 0);
  return names.length <= maxPlainNames && !words.includes(undefined) && letters <= maxPlainLetters;
}
