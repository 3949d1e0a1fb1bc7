/** `remora skills list`. With `--conversation`, shows which skills that conversation may use. */
import { relative } from "node:path";
import { toolboxSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { messageOf } from "../lib/errors.ts";
import { counted } from "../lib/text/counted.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Skill } from "../ports/skill.ts";
import { createSkillAccess } from "../skill-runtime/library/allowed.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { createSkillSwitches } from "../skill-runtime/library/skill-switches.ts";
import { hasLedger, withLedger } from "./open-state.ts";
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
  /** Turned off for everybody, by `skills disable` or on the dashboard. */
  isOff: boolean;
}

export async function listSkillsCommand(
  env: Environment,
  root: string,
  options: { json?: boolean; conversation?: string },
): Promise<void> {
  const settings = settingsFor(env, root);
  const { skills, diagnostics } = await loadSkills(skillRootsOf(settings));
  const isAllowed = createSkillAccess(toolboxSettings(settings));
  const isOff = await readSwitches(settings);
  const listed = skills.map((skill) => ({
    ...toListed(skill, !isAllowed(skill, options.conversation ?? "")),
    isOff: isOff(skill),
  }));
  process.stdout.write(options.json ? `${JSON.stringify(listed, null, 1)}\n` : describe(listed));
  const files = new Set(diagnostics.map(({ path }) => path)).size;
  if (files > 0)
    process.stderr.write(`${counted(files, "file")} with problems. For details: npm run -s remora -- skills check\n`);
}

/** Without a ledger nothing is off. One that can't be read is reported, and the list goes on. */
async function readSwitches(settings: Settings): Promise<(skill: Skill) => boolean> {
  if (!hasLedger(settings)) return () => false;
  try {
    return await withLedger(settings, async (ledger) => {
      const switches = createSkillSwitches(ledger);
      await switches.refresh();
      return (skill) => !switches.isOn(skill);
    });
  } catch (thrown) {
    process.stderr.write(`Which skills are turned off is not known: ${messageOf(thrown)}\n`);
    return () => false;
  }
}

function toListed(skill: Skill, isDenied: boolean): Omit<ListedSkill, "isOff"> {
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
      ...(skill.isOff ? [`turned off (skills enable ${skill.name})`] : []),
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
