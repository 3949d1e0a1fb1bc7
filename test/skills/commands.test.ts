/** `/remora skills` and `/remora skill`, with what a conversation may use. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { skillCommand, skillsCommand } from "../../src/core/desk-commands.ts";
import { createEvents } from "../../src/core/events.ts";
import { silentLog } from "../../src/core/log.ts";
import type { InboundCommand, InboundMessage } from "../../src/core/message.ts";
import { createSkillLibrary } from "../../src/skills/library.ts";
import { createToolbox } from "../../src/skills/toolbox.ts";
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
  const accepted: InboundMessage[] = [];
  const visible = toolbox.skillsFor;
  const commands = {
    skills: skillsCommand(visible),
    skill: skillCommand({ visible, accept: async (message) => void accepted.push(message) }),
  };
  const say = (name: keyof typeof commands, rest = "", conversationId = "slack:T1:C1:1.2") => {
    const by = { id: "U1", name: "Ann", isBot: false, roles: [] };
    const command: InboundCommand = { platform: "slack", conversationId, scope: "channel:C1", name, rest, by, at: 7 };
    return commands[name].run(command);
  };
  return { say, accepted };
}

const files = { "a/SKILL.md": skillText("alpha"), "b/SKILL.md": skillText("beta"), "x/SKILL.md": "no frontmatter" };

test("the list has what may be used in this conversation, and what is wrong with files", async () => {
  const { say } = await open(files, ["alpha"]);
  expect(await say("skills")).toMatch(/^- \*\*beta\*\* — What beta does\n\nProblems:\n- /);
  expect(await say("skills")).toMatch(/x\/SKILL\.md:1` there is no frontmatter/);
  expect(await say("skills", "", "slack:T1:C2")).toContain("**alpha**");
  expect(await say("skills", "WHAT bet", "slack:T1:C2")).not.toContain("**alpha**");
  expect(await say("skills", "zebra")).toMatch(/^No skill fits\./);
});

test("a long list is shortened", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`s${index}/SKILL.md`, skillText(`s${index}`)]),
  );
  const { say } = await open(many);
  const lines = (await say("skills")).split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([51, "- … and 10 more"]);
});

test("a message can be said with one skill, by its name or its folder's, where it may be used", async () => {
  const { say, accepted } = await open(files, ["alpha"]);
  expect(await say("skill", "b  write\nthe notes")).toBe("Asked with the skill **beta**.");
  expect(accepted).toEqual([
    {
      id: expect.stringMatching(/^schedule:skill-[0-9a-f-]{36}:7$/),
      platform: "slack",
      conversationId: "slack:T1:C1:1.2",
      scope: "channel:C1",
      author: { id: "U1", name: "Ann", isBot: false, roles: [] },
      text: "Use the skill beta for this: call load_skill with its name first.\n\nwrite\nthe notes",
      attachments: [],
      isAddressed: true,
      isDirect: false,
      at: 7,
    },
  ]);
  expect(await say("skill", "alpha x")).toContain("There is no skill `alpha` here");
  expect(await say("skill", "beta")).toContain("Write `/remora skill NAME TEXT`");
  expect(await say("skill")).toContain("Write `/remora skill NAME TEXT`");
  expect(accepted).toHaveLength(1);
});
