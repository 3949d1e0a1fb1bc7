/** `remora skills enable|disable NAME` turns a skill on or off for everybody, like the switch on the dashboard. */
import { join } from "node:path";
import { createAuditLog } from "../audit/audit-log.ts";
import { auditFolderOf } from "../audit/files.ts";
import { headsFolderOf } from "../audit/heads.ts";
import { redisSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";
import { createEvents } from "../lib/event-bus.ts";
import { silentLog } from "../lib/log.ts";
import { createMasker } from "../lib/redact.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { createSkillSwitches } from "../skill-runtime/library/skill-switches.ts";
import { openLedger } from "../storage/open-state.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

export async function switchSkillCommand(
  env: Environment,
  root: string,
  written: string,
  isOn: boolean,
): Promise<void> {
  const settings = settingsFor(env, root);
  const { skills } = await loadSkills(skillRootsOf(settings));
  const found = skills.find((skill) => skill.name === written || skill.aliases.includes(written));
  if (found === undefined) {
    const place = `skills ${isOn ? "enable" : "disable"} ${asPlain(written)}`;
    throw new RemoraError({
      code: "skills.unknown",
      place,
      message: "there is no skill of this name. To see all: npm run -s remora -- skills list",
    });
  }
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
  const ledger = await openLedger({ data: settings.data, redis: redisSettings(settings), log: silentLog });
  const audit = createAuditLog({
    ...{ events: createEvents(), mask: createMasker(settings.secrets), log: silentLog },
    retentionDays: settings.config.events.retentionDays,
    folder: auditFolderOf(settings.workspace),
    headsFolder: headsFolderOf(join(settings.data)),
  });
  try {
    const switches = createSkillSwitches(ledger);
    await switches.refresh();
    if (switches.isOn({ name }) === isOn) return false;
    await audit.record("operator.acted", { action: isOn ? "skill.on" : "skill.off", subject: name });
    return await switches.turn(name, isOn);
  } finally {
    await audit.close();
    await ledger.close();
  }
}
