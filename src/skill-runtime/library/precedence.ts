/**
 * Chooses the active skills. Of several with one name, the latest root wins, then the highest version, then path order.
 * Skills whose `requires` are missing or form a cycle are dropped. If two skills have tools with the same name, the
 * later skill's tool wins. Everything dropped is reported.
 */
import { compareVersions } from "../../lib/compare-versions.ts";
import type { Skill, SkillDiagnostic } from "../../ports/skill.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import { diagnosticOf } from "../parse/diagnostics.ts";

export interface LoadedSkill {
  skill: Skill;
  root: number;
}

export interface Chosen {
  skills: Skill[];
  diagnostics: SkillDiagnostic[];
}

/** `candidates` must be ordered by root, then by path. */
export function chooseSkills(candidates: LoadedSkill[]): Chosen {
  const named = oneOfEachName(candidates);
  const complete = withRequirements(named.skills);
  const diagnostics = [...named.diagnostics, ...complete.diagnostics, ...repeatedTools(complete.skills)];
  return { skills: complete.skills, diagnostics };
}

function oneOfEachName(candidates: LoadedSkill[]): Chosen {
  const winners = new Map<string, LoadedSkill>();
  const diagnostics: SkillDiagnostic[] = [];
  for (const candidate of candidates) {
    const { name } = candidate.skill;
    const other = winners.get(name);
    const wins = other === undefined || beats(candidate, other);
    if (wins) winners.set(name, candidate);
    if (other === undefined) continue;
    const [winner, loser] = wins ? [candidate.skill, other.skill] : [other.skill, candidate.skill];
    const message = `not in force: another skill named ${name} takes precedence, ${winner.path}`;
    diagnostics.push(diagnosticOf(loser.path, "warning", "name-taken", message));
  }
  return {
    skills: candidates.map(({ skill }) => skill).filter((skill) => winners.get(skill.name)?.skill === skill),
    diagnostics,
  };
}

function beats(later: LoadedSkill, earlier: LoadedSkill): boolean {
  if (later.root !== earlier.root) return later.root > earlier.root;
  return compareVersions(later.skill.version, earlier.skill.version) > 0;
}

/** Repeatedly removes skills with missing requirements, then removes skills that require themselves. */
function withRequirements(skills: Skill[]): Chosen {
  const diagnostics: SkillDiagnostic[] = [];
  const refuse = ({ path }: Skill, code: string, message: string) =>
    diagnostics.push(diagnosticOf(path, "error", code, message));
  let kept = skills;
  for (let before = -1; before !== kept.length; ) {
    before = kept.length;
    const present = byAnyName(kept);
    kept = kept.filter((skill) => {
      const missing = skill.requires.filter((name) => !present.has(name));
      if (missing.length > 0)
        refuse(skill, "requires-missing", `not loaded: it requires ${missing.join(", ")}, which is not loaded`);
      return missing.length === 0;
    });
    const index = byAnyName(kept);
    const circular = new Set(kept.filter((skill) => reaches(skill, skill, index)));
    for (const skill of circular) {
      refuse(
        skill,
        "requires-circular",
        `not loaded: what it requires (${skill.requires.join(", ")}) also requires it`,
      );
    }
    kept = kept.filter((skill) => !circular.has(skill));
  }
  return { skills: kept, diagnostics };
}

function reaches(from: Skill, target: Skill, index: ReadonlyMap<string, Skill>): boolean {
  const seen = new Set<Skill>();
  const open = [from];
  for (let skill = open.pop(); skill !== undefined; skill = open.pop()) {
    for (const name of skill.requires) {
      const next = index.get(name);
      if (next === target) return true;
      if (next === undefined || seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return false;
}

/** A skill's name takes precedence over another skill's alias. */
export function byAnyName(skills: Skill[]): Map<string, Skill> {
  const aliases = skills.flatMap((skill) => skill.aliases.map((alias) => [alias, skill] as const));
  return new Map([...aliases, ...skills.map((skill) => [skill.name, skill] as const)]);
}

function repeatedTools(skills: Skill[]): SkillDiagnostic[] {
  const owners = new Map<string, Skill>();
  return skills.flatMap((skill) =>
    skill.tools.flatMap((tool) => {
      const earlier = owners.get(tool.name);
      owners.set(tool.name, skill);
      if (earlier === undefined) return [];
      const message = `its tool ${tool.name} is not in force: the skill ${skill.name} (${skill.path}) has a tool with that name and comes after ${earlier.name}`;
      return [diagnosticOf(earlier.path, "warning", "tool-taken", message)];
    }),
  );
}

export function toolsInForce(skills: Skill[]): Map<string, { spec: ToolSpec; skill: Skill }> {
  return new Map(skills.flatMap((skill) => skill.tools.map((spec) => [spec.name, { spec, skill }] as const)));
}
