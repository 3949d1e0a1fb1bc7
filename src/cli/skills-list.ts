/** `remora skills list`. With `--conversation`, shows which skills that conversation may use. */
import { relative } from "node:path";
import { toolboxSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill } from "../ports/skill.ts";
import { createSkillAccess } from "../skill-runtime/library/allowed.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

interface ListedSkill {
  name: string;
  version: string | null;
  description: string;
  path: string;
  tools: string[];
  providesTools: boolean;
  danger: number;
  confirm: number;
  /** Denied for everyone, or for the given conversation. */
  isDenied: boolean;
}

export async function listSkillsCommand(
  env: Environment,
  root: string,
  options: { json?: boolean; conversation?: string },
): Promise<void> {
  const settings = settingsFor(env, root);
  const { skills, diagnostics } = await loadSkills(skillRootsOf(settings));
  const isAllowed = createSkillAccess(toolboxSettings(settings));
  const listed = skills.map((skill) => toListed(skill, !isAllowed(skill, options.conversation ?? "")));
  process.stdout.write(options.json ? `${JSON.stringify(listed, null, 1)}\n` : describe(listed));
  const files = new Set(diagnostics.map(({ path }) => path)).size;
  if (files > 0) process.stderr.write(`${files} files with problems. For details: npm run -s remora -- skills check\n`);
}

function toListed(skill: Skill, isDenied: boolean): ListedSkill {
  const { name, version, description, path, tools, providesTools, rules } = skill;
  return {
    name,
    version,
    description,
    path,
    tools: tools.map((tool) => tool.name),
    providesTools,
    danger: rules.filter(({ kind }) => kind === "danger").length,
    confirm: rules.filter(({ kind }) => kind === "confirm").length,
    isDenied,
  };
}

function describe(listed: ListedSkill[]): string {
  const lines = listed.flatMap((skill) => {
    const facts = [
      ...(skill.isDenied ? ["not allowed here"] : []),
      ...(skill.tools.length > 0 ? [`tools ${skill.tools.join(", ")}`] : []),
      ...(skill.providesTools ? ["more tools while running"] : []),
      ...(skill.danger + skill.confirm > 0 ? [`${skill.danger} danger, ${skill.confirm} confirm`] : []),
      relative(process.cwd(), skill.path),
    ];
    const name = asPlain(skill.version === null ? skill.name : `${skill.name} ${skill.version}`);
    return [`${name} — ${asPlain(skill.description)}`, `    ${asPlain(facts.join(" · "))}`];
  });
  return `${[...lines, `${listed.length} skills`].join("\n")}\n`;
}
