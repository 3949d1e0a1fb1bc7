/** `list_skills` returns one line per skill, then the problems found in skill files. */
import { dirname, join, relative, sep } from "node:path";
import type { PluginSkills, Skill } from "../../src/plugin-sdk/plugin.ts";

const maxSkills = 100;
const maxFindings = 30;

export function listSkills(query: string, skills: PluginSkills, workspace: string): string {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const fits = ({ name, description }: Skill) => {
    const text = `${name} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const found = skills.list().filter(fits);
  const lines = found.slice(0, maxSkills).map((skill) => lineOf(skill, workspace));
  const more = found.length - lines.length;
  const findings = skills
    .diagnostics()
    .slice(0, maxFindings)
    .map(({ path, line, message }) => `- ${shownPath(path, workspace)}${line === 0 ? "" : `:${line}`}: ${message}`);
  return [
    lines.length === 0 ? `No skill matches ${JSON.stringify(query)}.` : lines.join("\n"),
    ...(more > 0 ? [`… and ${more} more: add words to search for.`] : []),
    ...(findings.length === 0 ? [] : ["", "Problems of skill files:", ...findings]),
  ].join("\n");
}

function lineOf(skill: Skill, workspace: string): string {
  const { name, description, version, tools } = skill;
  const names = tools.map(({ name: tool, offeredBy, isNameHidden }) =>
    isNameHidden === true ? `of the program ${name}/${offeredBy}` : tool,
  );
  const facts = [
    isOfWorkspace(skill, workspace) ? "in the workspace" : "read-only",
    ...(version === null ? [] : [`version ${version}`]),
    ...(tools.length === 0 ? [] : [`tools ${[...new Set(names)].join(", ")}`]),
  ];
  return `- ${name} — ${description} (${facts.join("; ")})`;
}

function isOfWorkspace({ folder }: Skill, workspace: string): boolean {
  return dirname(folder) === join(workspace, "skills");
}

function shownPath(path: string, workspace: string): string {
  const inside = relative(workspace, path);
  return inside.startsWith(`..${sep}`) ? path : inside;
}
