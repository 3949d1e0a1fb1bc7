import { afterEach, beforeEach, expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createSkillSwitches } from "../../src/skill-runtime/library/skill-switches.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

let ledger: Ledger;
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(() => ledger.close());

test("a switch survives a restart, and other processes follow it", async () => {
  const [one, other] = [createSkillSwitches(ledger), createSkillSwitches(ledger)];
  expect(await one.turn("shell", false)).toBe(true);
  expect([one.isOn({ name: "shell" }), one.isOn({ name: "web" }), other.isOn({ name: "shell" })]).toEqual([
    false,
    true,
    true,
  ]);
  expect([await other.refresh(), await other.refresh(), other.isOn({ name: "shell" })]).toEqual([true, false, false]);
  const restarted = createSkillSwitches(ledger);
  await restarted.refresh();
  expect(restarted.isOn({ name: "shell" })).toBe(false);
  expect(await restarted.turn("shell", true)).toBe(true);
  await one.refresh();
  expect(one.isOn({ name: "shell" })).toBe(true);
});

test("two operators who click at once lose no switch", async () => {
  const [one, other] = [createSkillSwitches(ledger), createSkillSwitches(ledger)];
  await Promise.all([one.turn("shell", false), other.turn("web", false), one.turn("shell", false)]);
  await one.refresh();
  expect([one.isOn({ name: "shell" }), one.isOn({ name: "web" })]).toEqual([false, false]);
});

test("a skill that is off offers no tools, can't be called or loaded, and its plugin ends", async () => {
  const source = `export default { execute: () => "ran", destroy() { globalThis.endedDemo = true; } };`;
  const root = await skillFolder({
    "demo/SKILL.md": skillText("demo", "tools: [{ name: act }]"),
    "demo/plugin.mjs": source,
  });
  const home = await temporaryFolder();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const switches = createSkillSwitches(ledger);
  const toolbox = createToolbox({
    ...{ library, log: silentLog, workspace: home, filesRoot: home, dataFolder: home, config: {}, isOn: switches.isOn },
  });
  const scope = {
    ...{ turnId: "t", conversationId: "c", scope: "channel:c" as const, workingFolder: `${home}/f` },
    requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
  };
  const call = () => toolbox.run({ id: "1", name: "act", input: {} }, scope, new AbortController().signal);
  expect((await call()).text).toBe("ran");
  await switches.turn("demo", false);
  toolbox.applySwitches();
  expect(toolbox.specs("c").map(({ name }) => name)).toEqual(["load_skill"]);
  expect(toolbox.skillsFor("c").skills).toEqual([]);
  expect((await call()).text).toContain("There is no tool called act here");
  await expect.poll(() => (globalThis as { endedDemo?: boolean }).endedDemo).toBe(true);
  await switches.turn("demo", true);
  toolbox.applySwitches();
  expect((await call()).text).toBe("ran");
  await toolbox.close();
  await library.close();
});
