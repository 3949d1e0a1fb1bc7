/** Decides which skills a conversation may use. Others are not offered, not listed by `load_skill` and not callable. */
import type { Skill } from "../../ports/skill.ts";

/** Names of skills. `deny` overrides `allow`. If `allow` is absent, every skill is allowed. */
interface SkillFilter {
  allow?: string[];
  deny?: string[];
}

export interface SkillAccess extends SkillFilter {
  /** Keys are conversation ids or prefixes up to a colon: `slack:T1:C1` is a channel with all its threads. */
  conversations?: { [conversation: string]: SkillFilter };
}

/** A skill must pass the general filter and every filter that matches the conversation. */
export function createSkillAccess(access: SkillAccess): (skill: Skill, conversationId: string) => boolean {
  return (skill, conversationId) => {
    const fitting = Object.entries(access.conversations ?? {}).filter(
      ([id]) => conversationId === id || conversationId.startsWith(`${id}:`),
    );
    return [access, ...fitting.map(([, filter]) => filter)].every((filter) => passes(skill, filter));
  };
}

function passes(skill: Skill, { allow, deny }: SkillFilter): boolean {
  const isNamed = (names: string[]) =>
    names.includes(skill.name) || skill.aliases.some((alias) => names.includes(alias));
  return !isNamed(deny ?? []) && (allow === undefined || isNamed(allow));
}
