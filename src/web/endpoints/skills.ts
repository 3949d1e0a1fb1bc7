/** The loaded skills and their problems. The operator can turn a skill off for everybody, and read the files again. */
import type { Hono } from "hono";
import { z } from "zod";
import type { Skill, SkillDiagnostic, SkillSet } from "../../ports/skill.ts";
import type { Operate } from "./operate.ts";
import { acting, reading } from "./respond.ts";

export interface SkillRow {
  name: string;
  version: string | null;
  description: string;
  path: string;
  tools: string[];
  /** Runs in processes of its own, because it did not come with Remora. */
  isIsolated: boolean;
  state: SkillState;
  diagnostics: Pick<SkillDiagnostic, "line" | "severity" | "message" | "printed">[];
}

/** `denied` by the settings for everybody, which the dashboard can't change; `off` by the operator. */
export type SkillState = "on" | "off" | "denied";

export interface SkillDesk {
  current(): SkillSet;
  stateOf(skill: Skill): SkillState;
  isIsolated(skill: Skill): boolean;
  /** Stored, so it survives restarts, and applies to all processes. */
  turn(name: string, isOn: boolean): Promise<void>;
  reload(): Promise<SkillSet>;
}

export function mountSkills(app: Hono, { skills, operate }: { skills: SkillDesk; operate: Operate }): void {
  reading(app, "/dashboard/data/skills", z.object({}), async () => describeSkills(skills));
  acting(app, "/dashboard/skills/turn", {
    schema: z.strictObject({ name: z.string().min(1).max(200), isOn: z.boolean() }),
    invalid: "To turn a skill on or off, send its name and isOn.",
    act: async ({ name, isOn }, visitor) => {
      if (!skills.current().skills.some((skill) => skill.name === name))
        return { accepted: false, text: "There is no skill of this name any more." };
      return await operate(visitor, { action: isOn ? "skill.on" : "skill.off", subject: name }, async () => {
        await skills.turn(name, isOn);
        const text = isOn ? "is on again." : "is off. Its rules still apply. Nobody can use it from now on.";
        return { accepted: true, text: `${name} ${text}` };
      });
    },
  });
  acting(app, "/dashboard/skills/reload", {
    schema: z.strictObject({}),
    invalid: "To read the skills again, send {}.",
    act: (_input, visitor) =>
      operate(visitor, { action: "skills.reload", subject: "all skills" }, async () => {
        const { skills: loaded, diagnostics } = await skills.reload();
        const files = new Set(diagnostics.map(({ path }) => path)).size;
        const problems = files === 0 ? "no problems" : `${files} ${files === 1 ? "file" : "files"} with problems`;
        return { accepted: true, text: `Read again: ${loaded.length} skills, ${problems}.` };
      }),
  });
}

function describeSkills(desk: SkillDesk): {
  skills: SkillRow[];
  broken: { path: string; diagnostics: SkillRow["diagnostics"] }[];
} {
  const { skills, diagnostics } = desk.current();
  const byPath = Map.groupBy(diagnostics, ({ path }) => path);
  const about = (path: string) => (byPath.get(path) ?? []).map(({ path: _path, code: _code, ...shown }) => shown);
  const loaded = new Set(skills.map(({ path }) => path));
  return {
    skills: skills.map((skill): SkillRow => {
      const { name, version, description, path, tools } = skill;
      return {
        ...{ name, version, description, path },
        tools: tools.map((tool) => tool.name),
        isIsolated: desk.isIsolated(skill),
        state: desk.stateOf(skill),
        diagnostics: about(path),
      };
    }),
    broken: [...byPath.keys()].filter((path) => !loaded.has(path)).map((path) => ({ path, diagnostics: about(path) })),
  };
}
