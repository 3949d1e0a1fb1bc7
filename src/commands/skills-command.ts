/** `/remora skills` lists the skills that a conversation can use, and problems in the files of all skills. */
import { codeSpan } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { Author } from "../ports/message.ts";
import type { SkillSet } from "../ports/skill.ts";

const maxListedSkills = 50;
const maxListedProblems = 20;

/** `isOwner`: owners also read what a program printed about a problem. */
export function skillsCommand(
  visible: (conversationId: string) => SkillSet,
  isOwner: (platform: string, person: Author) => boolean,
): CommandHandler {
  return {
    usage: "skills [WORDS]",
    description: "list the skills you can use here, and problems in skill files",
    async run({ conversationId, rest, platform, by }) {
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
        ({ path, line, message, printed }) =>
          `- \`${line === 0 ? path : `${path}:${line}`}\` ${message}${printed === undefined || !isOwner(platform, by) ? "" : `. It said: ${codeSpan(printed)}`}`,
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
