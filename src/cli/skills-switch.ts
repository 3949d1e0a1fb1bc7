/** `remora skills enable|disable NAME` turns a skill on or off for everybody, like the switch on the dashboard. */
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { createMasker } from "../lib/redact.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import { createSkillSwitches } from "../skill-runtime/library/skill-switches.ts";
import { withAudit, withLedger } from "./open-state.ts";
import { findSkill, settingsFor } from "./settings.ts";

export async function switchSkillCommand(
  env: Environment,
  root: string,
  written: string,
  isOn: boolean,
): Promise<void> {
  const settings = settingsFor(env, root);
  const found = await findSkill(settings, written, `skills ${isOn ? "enable" : "disable"} ${asPlain(written)}`);
  const isChanged = await turn(settings, found.name, isOn);
  const name = asPlain(found.name);
  const denied =
    isOn && settings.config.skills.deny.includes(found.name) ? " The setting skills.deny still denies it." : "";
  const text = isOn ? `is on.${denied}` : "is off for everybody. Its rules still apply.";
  const follows = isChanged ? " A running agent follows within a minute." : " It was before, too.";
  process.stdout.write(`${name} ${text}${follows}\n`);
}

/** In the audit log before it happens. */
async function turn(settings: Settings, name: string, isOn: boolean): Promise<boolean> {
  return await withLedger(settings, (ledger) =>
    withAudit(settings, createMasker(settings.secrets), async (audit) => {
      const switches = createSkillSwitches(ledger);
      await switches.refresh();
      if (switches.isOn({ name }) === isOn) return false;
      await audit.record("operator.acted", { action: isOn ? "skill.on" : "skill.off", subject: name });
      return await switches.turn(name, isOn);
    }),
  );
}
