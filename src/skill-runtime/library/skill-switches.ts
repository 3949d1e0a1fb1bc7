/**
 * Skills that the operator has turned off for everybody, in addition to `skills.deny`. Stored in the ledger, so all
 * processes follow and a restart changes nothing. Like denied skills, their rules still apply.
 */
import type { Ledger } from "../../ports/ledger.ts";
import type { Skill } from "../../ports/skill.ts";

export interface SkillSwitches {
  isOn(skill: Pick<Skill, "name">): boolean;
  /** Resolves to true if that is a change. */
  turn(name: string, isOn: boolean): Promise<boolean>;
  /** Reads what this and other processes have turned off. Resolves to true if anything has changed. */
  refresh(): Promise<boolean>;
}

export function createSkillSwitches(ledger: Ledger): SkillSwitches {
  let off: ReadonlySet<string> = new Set();

  async function refresh(): Promise<boolean> {
    const entries = await ledger.list("skill-switch", { states: ["off"] });
    const before = off;
    off = new Set(entries.map(({ id }) => id));
    return off.size !== before.size || [...off].some((name) => !before.has(name));
  }

  return {
    isOn: ({ name }) => !off.has(name),
    refresh,
    async turn(name, isOn) {
      const [from, to] = isOn ? (["off", "on"] as const) : (["on", "off"] as const);
      const entry = { state: to, body: {}, group: "skills" };
      if ((await ledger.transition("skill-switch", name, [from], to)) === undefined && !isOn)
        await ledger.create("skill-switch", name, entry);
      return await refresh();
    },
  };
}
