/** Builds the skill library, and the gate, which applies the skills' rules. */
import { isTrustedSkill, workingFolders } from "../config/derive.ts";
import { createGate } from "../gate/gate.ts";
import { messageOf } from "../lib/errors.ts";
import type { Gate } from "../ports/gate.ts";
import type { Skill } from "../ports/skill.ts";
import { createFirstUse } from "../skill-runtime/library/first-use.ts";
import { createSkillLibrary, gateRules, type SkillLibrary } from "../skill-runtime/library/library.ts";
import { createSkillSwitches, type SkillSwitches } from "../skill-runtime/library/skill-switches.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export interface Skills {
  library: SkillLibrary;
  gate: Gate;
  switches: SkillSwitches;
  warmUpGate(): void;
  isIsolated(skill: Skill): boolean;
  noteUse(skill: Skill): Promise<void>;
  /** Picks up skill approvals from other processes. */
  refreshFirstUse(): Promise<void>;
  close(): Promise<void>;
}

export async function buildSkills({ settings, log }: AppOptions, { ledger, store, events }: State): Promise<Skills> {
  const roots = settings.skillRoots;
  const library = createSkillLibrary({ roots, workingFolders: () => workingFolders(settings), log, events });
  await library.reload();
  const switches = createSkillSwitches(ledger);
  await switches.refresh();
  const isIsolated = (skill: Skill) => !isTrustedSkill(skill, settings);
  const firstUse = createFirstUse(store, isIsolated);
  await firstUse.refresh(library.current());

  const currentRules = () => {
    const set = library.current();
    const shipped = gateRules(set);
    return { ...shipped, rules: [...shipped.rules, ...firstUse.rules(set)] };
  };
  const gate = createGate({ rules: currentRules(), matching: settings.config.safety.matching });
  const replaceRules = () => gate.replace(currentRules());

  async function refreshFirstUse(): Promise<void> {
    if (await firstUse.refresh(library.current())) replaceRules();
  }

  library.onChange(() => {
    replaceRules();
    refreshFirstUse().catch((thrown: unknown) =>
      log.warn({ error: messageOf(thrown) }, "cannot read which skills were approved"),
    );
  });

  return {
    ...{ library, switches, isIsolated, refreshFirstUse },
    gate,
    warmUpGate: gate.warmUp,
    async noteUse(skill) {
      if (await firstUse.accept(skill)) replaceRules();
    },
    close: () => library.close(),
  };
}
