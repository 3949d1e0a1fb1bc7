/**
 * Plugins can offer tools at run time; adds those tools to the plugins' skills. A source's new offer replaces its previous one. A name
 * belongs to one tool for the lifetime of the process, and its rules keep applying: a tool that was briefly unavailable
 * must not return under another name or without its rules.
 */
import type { OfferedNames, Skill, SkillSet } from "../../ports/skill.ts";
import type { JsonSchema, ToolSpec } from "../../ports/tool.ts";
import { builtInNames } from "../../ports/tool-offer.ts";
import { createDiagnostics } from "../parse/diagnostics.ts";
import { createNames, defaultTimeoutMs } from "../parse/tools.ts";

export interface ValidTool {
  written: string;
  description: string;
  parameters: JsonSchema;
  timeoutMs: number;
  isTrusted: boolean;
  isReadOnly?: boolean;
  isNamed?: boolean;
}

export interface ValidOffer {
  tools: ValidTool[];
  problems: string[];
}

export interface DynamicTools {
  /** Keeps the source's previous tools if the offer has no `tools`. Returns false if nothing changes. */
  set(skillPath: string, source: string, offer: Partial<ValidOffer>): boolean;
  merge(set: SkillSet): SkillSet;
}

/** Of diagnostics in a program's own words. */
export const offeredToolsCode = "offered-tools";
/** Some providers refuse requests with more than 128 tools, and models choose badly among that many. */
const maxTools = 100;
/** Names are never freed, so their number is limited. */
const maxNames = 2_000;

interface Known {
  sources: Map<string, ValidOffer>;
  names: Map<string, string>;
  ever: Set<string>;
  asking: Set<string>;
  last?: { skill: Skill; madeOf: string; merged: Skill; problems: string[] };
  changes: number;
}

export function createDynamicTools(): DynamicTools {
  const bySkill = new Map<string, Known>();
  return {
    set(skillPath, source, { tools, problems = [] }) {
      const known = bySkill.get(skillPath) ?? newlyKnown();
      const before = known.sources.get(source) ?? { tools: [], problems: [] };
      const after: ValidOffer = { tools: tools ?? before.tools, problems };
      if (JSON.stringify(after) === JSON.stringify(before)) return false;
      known.sources.set(source, after);
      known.changes += 1;
      bySkill.set(skillPath, known);
      return true;
    },
    merge(set) {
      const providers = set.skills.filter((skill) => skill.providesTools && bySkill.has(skill.path));
      if (providers.length === 0) return set;
      const ofFiles = new Set([...builtInNames, ...set.skills.flatMap(({ tools }) => tools.map(({ name }) => name))]);
      const diagnostics = [...set.diagnostics];
      const skills = set.skills.map((skill) => {
        const known = skill.providesTools ? bySkill.get(skill.path) : undefined;
        if (known === undefined) return skill;
        const others = [...bySkill.values()].filter((other) => other !== known);
        const isTaken = (name: string) => ofFiles.has(name) || others.some(({ ever }) => ever.has(name));
        const { merged, problems } = mergeOne(skill, known, [...ofFiles].join(" "), isTaken);
        const notes = createDiagnostics(skill.path);
        for (const problem of problems) notes.warn(0, offeredToolsCode, problem);
        diagnostics.push(...notes.list);
        return merged;
      });
      return { skills, diagnostics };
    },
  };
}

/** Adds a placeholder tool `offered_tool` to each skill that provides tools, for checks that must not run plugins. */
export function withStandIns(set: SkillSet): SkillSet {
  const name = "offered_tool";
  const names: OfferedNames = { current: [name], ever: [name], asking: [name] };
  const tool = { written: name, description: "", parameters: { type: "object" }, timeoutMs: defaultTimeoutMs };
  const skills = set.skills.map((skill): Skill => {
    if (!skill.providesTools) return skill;
    const spec = toSpec({ ...tool, isTrusted: false }, name, skill.name);
    return { ...skill, tools: [...skill.tools, spec], offered: names };
  });
  return { ...set, skills };
}

function newlyKnown(): Known {
  return { sources: new Map(), names: new Map(), ever: new Set(), asking: new Set(), changes: 0 };
}

function mergeOne(skill: Skill, known: Known, ofFiles: string, isTaken: (name: string) => boolean) {
  const madeOf = `${known.changes} ${ofFiles}`;
  if (known.last?.skill === skill && known.last.madeOf === madeOf) return known.last;
  const { chosen, problems } = choose(known);
  const current: ToolSpec[] = [];
  const written: [string, string][] = [];
  for (const tool of chosen) {
    const name = nameFor(tool.written, known, isTaken);
    if (name === undefined) {
      problems.push(`the tool ${tool.written} is left out: its sources have used too many names`);
      continue;
    }
    const usual = createNames(() => false)(tool.written);
    if (name !== usual)
      problems.push(`the tool ${tool.written} is called ${name} because another tool is called ${usual}`);
    known.ever.add(name);
    if (!tool.isTrusted) known.asking.add(name);
    const isNameHidden = tool.isNamed !== true && !isPlainName(tool.written, ofFiles);
    current.push(toSpec(tool, name, skill.name, isNameHidden));
    written.push([name, tool.written]);
  }
  const offered: OfferedNames = {
    current: current.map(({ name }) => name),
    ever: [...known.ever],
    asking: [...known.asking],
  };
  const renamedTools = { ...skill.renamedTools, ...Object.fromEntries(written) };
  const merged: Skill = { ...skill, tools: [...skill.tools, ...current], renamedTools, offered };
  known.last = { skill, madeOf, merged, problems };
  return known.last;
}

/** Takes tools from all sources in turn so that a source with hundreds of tools does not displace the others. */
function choose({ sources }: Known): { chosen: ValidTool[]; problems: string[] } {
  const inOrder = [...sources].sort(([one], [other]) => (one < other ? -1 : 1));
  const problems = inOrder.flatMap(([, offer]) => offer.problems);
  const waiting = inOrder.map(([source, { tools }]) => ({ source, tools, taken: 0 }));
  const chosen = new Map<string, ValidTool>();
  const longest = Math.max(0, ...waiting.map(({ tools }) => tools.length));
  for (let turn = 0; turn < longest; turn += 1) {
    for (const one of waiting) {
      const tool = one.tools[turn];
      if (tool === undefined || chosen.size >= maxTools || chosen.has(tool.written)) continue;
      chosen.set(tool.written, tool);
      one.taken += 1;
    }
  }
  for (const { source, tools, taken } of waiting) {
    const missing = new Set(tools.map(({ written }) => written)).size - taken;
    if (missing <= 0) continue;
    problems.push(
      `${source} offers ${tools.length} tools, of which ${taken} are in force: the limit for all sources together is ${maxTools}. List the tools that you need in the settings`,
    );
  }
  const byName = [...chosen.values()].sort((one, other) => (one.written < other.written ? -1 : 1));
  return { chosen: byName, problems };
}

function nameFor(written: string, { names, ever }: Known, isTaken: (name: string) => boolean): string | undefined {
  const before = names.get(written);
  if (before !== undefined && !isTaken(before)) return before;
  if (ever.size >= maxNames) return undefined;
  const name = createNames((candidate) => isTaken(candidate) || ever.has(candidate))(written);
  names.set(written, name);
  return name;
}

const plain = { words: 3, wordLetters: 12, letters: 24, toolLetters: 6 };

/** A few short words, and no other tool's name among them: too little to tell a model what to do. */
function isPlainName(written: string, ofFiles: string): boolean {
  const own = written.slice(written.indexOf("/") + 1);
  const words = own.replace(/([a-z])([A-Z])/g, "$1 $2").split(/[ _/.-]/);
  const isShort = words.length <= plain.words && words.join("").length <= plain.letters;
  if (!isShort || !words.every((word) => /^[A-Za-z]+$/.test(word) && word.length <= plain.wordLetters)) return false;
  const letters = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const others = ofFiles.split(" ").map(letters);
  return !others.some((other) => other.length >= plain.toolLetters && letters(own).includes(other));
}

/** Assumes that an offered tool can read and send anything, and change it unless the operator trusts it to read only. */
function toSpec(tool: ValidTool, name: string, skill: string, isNameHidden = false): ToolSpec {
  const { written, description, parameters, timeoutMs, isTrusted, isReadOnly } = tool;
  return {
    name,
    description,
    parameters,
    skill,
    isReadOnly: isTrusted && isReadOnly === true,
    isIdempotent: false,
    readsUntrusted: true,
    isOutward: true,
    offeredBy: written.split("/", 1)[0] ?? skill,
    ...(isNameHidden ? { isNameHidden } : {}),
    timeoutMs,
    folder: "write",
    shellParameters: [],
  };
}
