/** Parses one SKILL.md. Any content yields a skill or an error. Reads no files and runs no code. */
import { basename, dirname } from "node:path";
import { isScalar, isSeq } from "yaml";
import type { GateRule } from "../../ports/gate.ts";
import type { Skill, SkillDiagnostic, SkillPermissions } from "../../ports/skill.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import { createDiagnostics, type Notes } from "./diagnostics.ts";
import { splitFrontmatter } from "./frontmatter.ts";
import { readGateTests } from "./gate-tests.ts";
import { offeredToolMark, readRules } from "./patterns.ts";
import { readPermissions } from "./permissions.ts";
import { cleanLine, hasMarkup, hasUnseen } from "./text.ts";
import { readTools } from "./tools.ts";
import { textOf, textsOf } from "./values.ts";
import { type Fields, readFields } from "./yaml-fields.ts";

export interface ParsedSkill {
  /** Absent if the file is not a valid skill; a diagnostic says why. */
  skill?: Skill;
  diagnostics: SkillDiagnostic[];
}

/** One call never returns more than this to the model. */
export const maxBodyBytes = 100_000;
const maxDescription = 300;
const maxFormatDescription = 1024;
const maxName = 64;
const maxTrigger = 300;

export function parseSkill(bytes: Uint8Array, path: string, plugin: string | null): ParsedSkill {
  const notes = createDiagnostics(path);
  try {
    const skill = readSkill(bytes, path, plugin, notes);
    return skill === undefined ? { diagnostics: notes.list } : { skill, diagnostics: notes.list };
  } catch {
    // The parsers are third-party code, and a bug in one must not affect other skills.
    notes.error(0, "unreadable", "the file can't be read as a skill: check its frontmatter");
    return { diagnostics: notes.list };
  }
}

function readSkill(bytes: Uint8Array, path: string, plugin: string | null, notes: Notes): Skill | undefined {
  const parts = splitFrontmatter(bytes, notes);
  if (parts === undefined) return undefined;
  const fields = readFields(parts.yaml, parts.linesAbove, notes);
  if (fields === undefined) return undefined;
  const folder = dirname(path);
  const name = readName(fields, basename(folder), notes);
  const description = readDescription(fields, notes);
  if (name === undefined || description === undefined) return undefined;
  checkBody(parts.body, notes);
  const permissions = readPermissions(fields, notes);
  const { tools: written, renamedTools } = readTools(fields, name, notes);
  const tools = written.map((tool) => withReach(tool, permissions));
  const rules = readRules(fields, name, path, notes);
  const providesTools = readProvidesTools(fields, rules, plugin, notes);
  return {
    name,
    aliases: basename(folder) === name ? [] : [basename(folder)],
    description,
    version: textOf(fields.first("version"), "version", notes) ?? null,
    triggers: readTriggers(fields, { isCapability: tools.length > 0 || providesTools, body: parts.body }, notes),
    tools,
    renamedTools,
    providesTools,
    permissions,
    rules,
    gateTests: readGateTests(fields, notes),
    requires: readRequires(fields, notes),
    body: parts.body,
    path,
    folder,
    plugin,
    verdict: notes.list.length === 0 ? "accept" : "warn",
  };
}

/** Marks the tool as sending or reading foreign data if its permissions allow that, whatever its author declares. */
function withReach(tool: ToolSpec, { network, services }: SkillPermissions): ToolSpec {
  const hasNetwork = network.length > 0;
  return {
    ...tool,
    isOutward: tool.isOutward || hasNetwork || services.includes("chat"),
    readsUntrusted: tool.readsUntrusted || hasNetwork || services.includes("chat"),
  };
}

function readName(fields: Fields, folderName: string, notes: Notes): string | undefined {
  const field = fields.first("name");
  const written = textOf(field, "name", notes);
  const name = cleanLine(written ?? "", maxFormatDescription);
  if (written === undefined || field === undefined || name === "") {
    notes.error(field?.line ?? 1, "missing-name", "there is no name: add name: to the frontmatter");
    return undefined;
  }
  if (hasUnseen(written))
    notes.warn(field.line, "unseen-characters", "the name contained invisible characters, which were removed");
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || name.length > maxName) {
    notes.warn(
      field.line,
      "name-format",
      "a name is at most 64 of a-z 0-9, with single hyphens between them: other programs refuse this one",
    );
  } else if (name !== folderName && !folderName.startsWith(`${name}-`)) {
    // Archives unpack into `name-1.2.0` or `name-main`, so such folder names cause only a warning.
    notes.warn(
      field.line,
      "name-differs",
      `the name differs from its folder ${folderName}: the skill can be used under both`,
    );
  }
  return name;
}

function readDescription(fields: Fields, notes: Notes): string | undefined {
  const field = fields.first("description");
  const written = textOf(field, "description", notes);
  const description = cleanLine(written ?? "", maxDescription);
  if (written === undefined || field === undefined || description === "") {
    notes.error(
      field?.line ?? 1,
      "missing-description",
      "there is no description: add description: to the frontmatter, one line",
    );
    return undefined;
  }
  if (written.length > maxFormatDescription) {
    notes.warn(field.line, "long-description", "the description is over 1,024 characters and was cut at 300");
  }
  if (hasUnseen(written)) {
    notes.warn(
      field.line,
      "unseen-characters",
      "the description contained control or invisible characters, which were removed",
    );
  }
  if (hasMarkup(written)) notes.warn(field.line, "markup", "the description contained markup, which was removed");
  return description;
}

/** Drops triggers that can never match, each with a warning. */
function readTriggers(
  fields: Fields,
  { isCapability, body }: { isCapability: boolean; body: string },
  notes: Notes,
): string[] {
  const field = fields.first("triggers");
  const line = field?.line ?? 0;
  const triggers = new Set<string>();
  const written = textsOf(field, "triggers", fields, notes);
  if (isSeq(field?.node) && field.node.items.length > written.length)
    notes.warn(line, "trigger-never-matches", "an entry of triggers is empty, so it can never match: remove it");
  for (const text of written) {
    const trigger = cleanLine(text, Number.POSITIVE_INFINITY).toLowerCase();
    const problem = triggerProblem(trigger, isCapability);
    if (problem === undefined) triggers.add(trigger);
    else notes.warn(line, "trigger-never-matches", problem);
  }
  if (triggers.size > 0 && body.trim() === "")
    notes.warn(line, "trigger-never-matches", "the triggers bring nothing in: there is no text below the frontmatter");
  return triggers.has("*") ? ["*"] : [...triggers];
}

function triggerProblem(trigger: string, isCapability: boolean): string | undefined {
  if (trigger === "") return "an entry of triggers can never match: it has only characters or markup that are removed";
  if ([...trigger].length > maxTrigger)
    return `the trigger that begins with ${JSON.stringify(trigger.slice(0, 40))} is over ${maxTrigger} characters and was ignored: write a word or a few words`;
  if (isCapability && trigger === "*")
    return 'the trigger "*" is for skills without tools, and does nothing here: write the words that the skill is for';
  return undefined;
}

function readProvidesTools(fields: Fields, rules: GateRule[], plugin: string | null, notes: Notes): boolean {
  const field = fields.first("provides_tools");
  const value = isScalar(field?.node) ? field.node.value : undefined;
  const line = field?.line ?? 0;
  if (field !== undefined && typeof value !== "boolean")
    notes.warn(line, "provides-tools", "provides_tools must be true or false; read as false");
  const isAsked = rules.some(({ kind, pattern }) => kind === "confirm" && pattern.includes(offeredToolMark));
  if (value !== true) {
    const marked = rules.find(({ pattern }) => pattern.includes(offeredToolMark));
    if (marked !== undefined)
      notes.warn(marked.line, "provides-tools", `${offeredToolMark} has no effect without provides_tools: true`);
    return false;
  }
  if (plugin === null) notes.warn(line, "provides-tools", "provides_tools has no effect: the skill has no plugin");
  if (!isAsked) {
    const message = `calls of the tools that its plugin offers run without asking: add the confirm pattern '^${offeredToolMark} '`;
    notes.warn(line, "provides-tools", message);
  }
  return true;
}

function readRequires(fields: Fields, notes: Notes): string[] {
  const field = fields.first("requires");
  if (field === undefined || field.node === null) return [];
  if (isSeq(field.node)) return [...new Set(textsOf(field, "requires", fields, notes))];
  notes.warn(field.line, "requires-ignored", "requires was ignored: it must be a list of other skills' names");
  return [];
}

function checkBody(body: string, notes: Notes): void {
  if (body.trim() === "")
    notes.warn(0, "empty-body", "there is no text below the frontmatter: describe how to use the skill");
  if (Buffer.byteLength(body) > maxBodyBytes) {
    notes.warn(
      0,
      "huge-body",
      "the body is over 100 KB: the model sees only its start; move parts into other files of the skill",
    );
  }
}
