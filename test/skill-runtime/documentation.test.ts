/** The example of docs/first-skill.md passes `remora skills check` and works. The tables of docs/skills.md name every field. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { readSettings } from "../../skills/mcp/settings.ts";
import { configSchema } from "../../src/config/schema.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { fieldNames } from "../../src/skill-runtime/parse/yaml-fields.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { temporaryFolder, writeFiles } from "./folders.ts";

const project = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(project, "docs/skills.md"), "utf8");
const firstSkill = readFileSync(join(project, "docs/first-skill.md"), "utf8");
/** The code below a line that is a file's name. */
const files = Object.fromEntries(
  [...firstSkill.matchAll(/^`([^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm)].map(([, path = "", text = ""]) => [path, text]),
);
const settings = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => parse(text) as object);

async function example() {
  const home = await temporaryFolder();
  await writeFiles(home, files);
  return home;
}

describe("the example", () => {
  test("passes `remora skills check` without a word about it", async () => {
    expect(Object.keys(files)).toEqual([
      "workspace/skills/notice-board/SKILL.md",
      "workspace/skills/notice-board/plugin.mjs",
    ]);
    const folder = join(await example(), "workspace/skills");
    const { exitCode, stdout, stderr } = await execa(
      process.execPath,
      ["src/remora.mjs", "skills", "check", folder, "--json"],
      { cwd: project, reject: false },
    );
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject([
      { name: "notice-board", verdict: "accept", loaded: true, tools: ["board_pin", "board_read", "board_wipe"] },
    ]);
  });

  test("works", async () => {
    const home = await example();
    const workspace = join(home, "workspace");
    const library = createSkillLibrary({ roots: [join(workspace, "skills")], log: silentLog, events: createEvents() });
    await library.reload();
    const [filesRoot, dataFolder] = [join(workspace, "files"), join(home, "data")];
    const toolbox = createToolbox({ library, log: silentLog, workspace, filesRoot, dataFolder, config: {} });
    onTestFinished(async () => {
      await toolbox.close();
      await library.close();
    });
    const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
    const at = { turnId: "t", conversationId: "c", scope: "dm:ann", requester } as const;
    const run = async (name: string, input = {}) => {
      const scope = { ...at, workingFolder: join(filesRoot, "ann") };
      return (await toolbox.run({ id: "1", name, input }, scope, new AbortController().signal)).text;
    };
    expect(await run("board_read")).toBe("The board is empty.");
    expect(await run("board_pin", { text: "The printer is repaired." })).toBe("Pinned.");
    expect(await run("board_read")).toBe("Ann: The printer is repaired.\n");
    expect(await run("board_wipe")).toBe("The board is empty.");
  });
});

test.each(fieldNames)("the field %s is in the table", (name) => {
  expect(page).toMatch(new RegExp(`^\\| \`${name}\` \\| \\S`, "m"));
});

test("the settings on the page are settings, those of the servers too", () => {
  const whole = settings.filter((one) => "skills" in one || "safety" in one);
  expect(whole).toHaveLength(2);
  for (const one of whole) expect(configSchema.safeParse(one).error).toBeUndefined();
  const { skills } = configSchema.parse(whole.find((one) => "skills" in one));
  const { servers, problems } = readSettings(skills.settings.mcp ?? {});
  expect([[...servers.keys()], problems]).toEqual([["files", "hub", "weather"], []]);
});
