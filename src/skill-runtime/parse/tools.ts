/** Converts tools to specs that every provider accepts. A plugin still gets a repaired tool's original name. */
import { isMap, isSeq } from "yaml";
import { isJsonObject } from "../../lib/json.ts";
import type { Json, JsonObject } from "../../ports/message.ts";
import type { FolderUse, JsonSchema, ToolSpec } from "../../ports/tool.ts";
import { builtInNames } from "../../ports/tool-offer.ts";
import { askOf } from "./ask.ts";
import type { Notes } from "./diagnostics.ts";
import { readPhrases } from "./phrases.ts";
import { toToolParameters } from "./schema.ts";
import { withoutUnseen } from "./text.ts";
import { toJson } from "./values.ts";
import type { Fields } from "./yaml-fields.ts";

export interface SkillTools {
  tools: ToolSpec[];
  /** Maps a repaired name to the name in the file. */
  renamedTools: { [name: string]: string };
}

export const defaultTimeoutMs = 120_000;
export const maxTimeoutMs = 24 * 60 * 60 * 1000;
const maxNameLength = 64;

export function readTools(fields: Fields, skill: string, notes: Notes): SkillTools {
  const tools: ToolSpec[] = [];
  const renamed: [string, string][] = [];
  const nameOf = createNames((name) => builtInNames.has(name));
  for (const { written, line } of entriesOf(fields, notes)) {
    const writtenName = typeof written.name === "string" ? written.name.trim() : "";
    if (writtenName === "") {
      notes.warn(line, "tool-without-name", "a tool without a name was ignored: add a name");
      continue;
    }
    if (builtInNames.has(writtenName)) {
      notes.warn(
        line,
        "tool-reserved",
        `the tool ${writtenName} was ignored: the name is built in; choose another one`,
      );
      continue;
    }
    const name = nameOf(writtenName);
    if (name !== writtenName) {
      notes.warn(
        line,
        "tool-renamed",
        `the tool ${writtenName} is called ${name} here: a name is 1 to 64 of A-Z a-z 0-9 _ - and must be unique`,
      );
      renamed.push([name, writtenName]);
    }
    tools.push(toSpec(written, name, skill, line, notes));
  }
  return { tools, renamedTools: Object.fromEntries(renamed) };
}

function entriesOf(fields: Fields, notes: Notes): { written: JsonObject; line: number }[] {
  const field = fields.first("tools");
  if (field === undefined || field.node === null) return [];
  const { node, line } = field;
  if (isMap(node)) {
    const tools = Object.entries(toJson(node, fields.document) as JsonObject);
    notes.warn(
      line,
      "tools-as-map",
      "tools should be a list of { name, description, parameters }: the keys were used as names",
    );
    return tools.map(([name, written]) => ({ written: { ...(isJsonObject(written) ? written : {}), name }, line }));
  }
  if (!isSeq(node)) {
    notes.warn(line, "tools-ignored", "tools was ignored: it must be a list of { name, description, parameters }");
    return [];
  }
  return node.items.flatMap((item) => {
    const written = toJson(item, fields.document);
    if (isJsonObject(written)) return [{ written, line: fields.lineOf(item as { range?: readonly number[] }) }];
    notes.warn(
      line,
      "tools-ignored",
      `an entry of tools was ignored because it is not { name, description, parameters }: ${JSON.stringify(written)}`,
    );
    return [];
  });
}

function toSpec(written: JsonObject, name: string, skill: string, line: number, notes: Notes): ToolSpec {
  const parameters = toToolParameters(written.parameters ?? written.inputSchema ?? written.input_schema);
  for (const problem of parameters.problems) notes.warn(line, "tool-parameters", `tool ${name}: ${problem}`);
  const phrases = readPhrases(written, name, parameters.schema, line, notes);
  return {
    name,
    description: typeof written.description === "string" ? withoutUnseen(written.description).trim() : "",
    parameters: parameters.schema,
    skill,
    isReadOnly: flagOf(written, "readOnly", name, line, notes),
    isIdempotent: flagOf(written, "idempotent", name, line, notes),
    readsUntrusted: flagOf(written, "untrusted", name, line, notes),
    isOutward: flagOf(written, "outward", name, line, notes),
    timeoutMs: timeoutOf(written.timeout, name, line, notes),
    folder: folderUse(written.folder, name, line, notes),
    shellParameters: parameters.shellParameters,
    ...asksTaintedOf(written.asksTaintedWith, parameters.schema, name, line, notes),
    ...(flagOf(written, "personal", name, line, notes) ? { isPersonal: true } : {}),
    ...(flagOf(written, "always", name, line, notes) ? { isAlwaysDefined: true } : {}),
    ...askOf(written.ask, parameters.schema, name, line, notes),
    ...(phrases === undefined ? {} : { phrases }),
  };
}

/** If anything is wrong with it, it is left out, so that every call of the tool asks. */
function asksTaintedOf(
  written: Json | undefined,
  { properties }: JsonSchema,
  name: string,
  line: number,
  notes: Notes,
): Pick<ToolSpec, "asksTaintedWith"> {
  if (written === undefined) return {};
  const known = isJsonObject(properties) ? properties : {};
  const names = Array.isArray(written) ? written.filter((each) => typeof each === "string") : [];
  if (Array.isArray(written) && names.length === written.length && names.every((each) => Object.hasOwn(known, each)))
    return { asksTaintedWith: names };
  notes.warn(
    line,
    "tool-tainted",
    `tool ${name}: asksTaintedWith must be a list of its parameters; ignored, so it asks`,
  );
  return {};
}

/** An unknown value counts as `write` so that the tool works on a draft. */
function folderUse(written: Json | undefined, name: string, line: number, notes: Notes): FolderUse {
  if (written === undefined) return "none";
  if (written === "none" || written === "read" || written === "write") return written;
  notes.warn(line, "tool-folder", `tool ${name}: folder must be none, read or write; read as write`);
  return "write";
}

/** A value that is not a boolean counts as the safer one. */
function flagOf(
  written: JsonObject,
  key: "readOnly" | "idempotent" | "untrusted" | "outward" | "personal" | "always",
  name: string,
  line: number,
  notes: Notes,
): boolean {
  const value = written[key] ?? (key === "readOnly" ? written.read_only : undefined);
  if (value !== undefined && typeof value !== "boolean") {
    const isCautious = key === "untrusted" || key === "outward" || key === "personal";
    notes.warn(line, "tool-flag", `tool ${name}: ${key} must be true or false; read as ${isCautious}`);
    return isCautious;
  }
  return value === true;
}

function timeoutOf(written: Json | undefined, name: string, line: number, notes: Notes): number {
  if (written === undefined) return defaultTimeoutMs;
  if (typeof written === "number" && written > 0 && written * 1000 <= maxTimeoutMs) return Math.ceil(written * 1000);
  notes.warn(
    line,
    "tool-timeout",
    `tool ${name}: timeout must be a number of seconds up to 86400; the default of 120 applies`,
  );
  return defaultTimeoutMs;
}

export function createNames(isTaken: (name: string) => boolean): (written: string) => string {
  const given = new Set<string>();
  const counts = new Map<string, number>();
  return (written) => {
    const valid = written.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, maxNameLength);
    let name = valid;
    let count = counts.get(valid) ?? 1;
    while (given.has(name) || isTaken(name)) {
      count += 1;
      name = `${valid.slice(0, maxNameLength - String(count).length - 1)}_${count}`;
    }
    counts.set(valid, count);
    given.add(name);
    return name;
  };
}
