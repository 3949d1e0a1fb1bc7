/** `/remora skills` lists the skills that a conversation can use, and problems in the files of all skills. */
import type { CommandHandler } from "../ports/command.ts";
import type { SkillSet } from "../ports/skill.ts";

const maxListedSkills = 50;
const maxListedProblems = 20;

export function skillsCommand(visible: (conversationId: string) => SkillSet): CommandHandler {
  return {
    usage: "skills [WORDS]",
    description: "list the skills you can use here, and problems in skill files",
    async run({ conversationId, rest }) {
      const { skills, diagnostics } = visible(conversationId);
      const words = rest
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== "");
      const found = skills.filter(({ name, description }) => {
        const text = `${name} ${description}`.toLowerCase();
        return words.every((word) => text.includes(word));
      });
      const lines = found.map((skill) => `- **${skill.name}** — ${skill.description}`);
      const problems = diagnostics.map(
        ({ path, line, message }) => `- \`${line === 0 ? path : `${path}:${line}`}\` ${message}`,
      );
      return [
        ...(lines.length === 0 ? ["No skills found."] : firstLines(lines, maxListedSkills)),
        ...(problems.length === 0 ? [] : ["", "Problems:", ...firstLines(problems, maxListedProblems)]),
      ].join("\n");
    },
  };
}

function firstLines(lines: string[], maxLines: number): string[] {
  return lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), `- … and ${lines.length - maxLines} more`];
}
