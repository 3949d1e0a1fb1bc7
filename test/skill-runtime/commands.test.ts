/** `/remora skills`, with what a conversation may use. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { skillsCommand } from "../../src/commands/skills-command.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { InboundCommand } from "../../src/ports/message.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

async function open(files: { [path: string]: string }, deny: string[] = []) {
  const library = createSkillLibrary({ roots: [await skillFolder(files)], log: silentLog, events: createEvents() });
  await library.reload();
  const home = await temporaryFolder();
  const toolbox = createToolbox({
    library,
    log: silentLog,
    workspace: home,
    filesRoot: join(home, "files"),
    dataFolder: join(home, "data"),
    config: { conversations: { "slack:T1:C1": { deny } } },
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
  });
  const skills = skillsCommand(toolbox.skillsFor, () => false);
  const list = (rest = "", conversationId = "slack:T1:C1:1.2") => {
    const by = { id: "U1", name: "Ann", isBot: false, roles: [] };
    const at = { platform: "slack", conversationId, scope: "channel:C1", by, at: 7 } as const;
    const command: InboundCommand = { ...at, name: "skills", rest };
    return skills.run(command);
  };
  return { list };
}

const files = { "a/SKILL.md": skillText("alpha"), "b/SKILL.md": skillText("beta"), "x/SKILL.md": "no frontmatter" };

test("the list has what may be used in this conversation, and what is wrong with files", async () => {
  const { list } = await open(files, ["alpha"]);
  expect(await list()).toMatch(/^- \*\*beta\*\* — What beta does\n\nProblems:\n- /);
  expect(await list()).toMatch(/x\/SKILL\.md:1` there is no frontmatter/);
  expect(await list("", "slack:T1:C2")).toContain("**alpha**");
  expect(await list("WHAT bet", "slack:T1:C2")).not.toContain("**alpha**");
  expect(await list("zebra")).toMatch(/^No skills found\./);
});

test("a long list is shortened", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`s${index}/SKILL.md`, skillText(`s${index}`)]),
  );
  const { list } = await open(many);
  const lines = (await list()).split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([51, "- … and 10 more"]);
});
