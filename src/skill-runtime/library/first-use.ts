/**
 * The first call of a skill needs approval if its plugin declares permissions, and the card lists them. The approval is
 * valid until the skill's version or its declared permissions change.
 */
import { hash } from "node:crypto";
import type { GateRule } from "../../ports/gate.ts";
import type { Skill, SkillSet } from "../../ports/skill.ts";
import type { Store } from "../../ports/store.ts";
import { describePermissions } from "../parse/permissions.ts";

export interface FirstUse {
  rules(set: SkillSet): GateRule[];
  /** Call when a tool of the skill runs, which implies a person's approval. Resolves to true the first time. */
  accept(skill: Skill): Promise<boolean>;
  /** Reads what this and other processes have accepted. Resolves to true if anything is new. */
  refresh(set: SkillSet): Promise<boolean>;
}

export function createFirstUse(store: Store, isIsolated: (skill: Skill) => boolean): FirstUse {
  const accepted = new Set<string>();
  const mustAsk = (skill: Skill) =>
    skill.plugin !== null && isIsolated(skill) && describePermissions(skill.permissions).length > 0;
  const isNew = (skill: Skill) => mustAsk(skill) && !accepted.has(acceptanceKey(skill));

  return {
    rules({ skills }) {
      return skills.filter(isNew).flatMap((skill) =>
        skill.tools.map(({ name }): GateRule => {
          const reason = `First use of the skill ${skill.name}: its plugin ${describePermissions(skill.permissions).join("; ")}.`;
          return { kind: "confirm", pattern: `^${name} `, reason, skill: skill.name, file: skill.path, line: 0 };
        }),
      );
    },
    async accept(skill) {
      if (!isNew(skill)) return false;
      accepted.add(acceptanceKey(skill));
      await store.set(acceptanceKey(skill), true);
      return true;
    },
    async refresh({ skills }) {
      let hasNews = false;
      for (const skill of skills.filter(isNew)) {
        if ((await store.get(acceptanceKey(skill))) !== true) continue;
        accepted.add(acceptanceKey(skill));
        hasNews = true;
      }
      return hasNews;
    },
  };
}

function acceptanceKey({ name, version, permissions, folder }: Skill): string {
  const digest = hash("sha256", JSON.stringify([name, version, permissions, folder]));
  return `plugin-first-use:${digest.slice(0, 32)}`;
}
