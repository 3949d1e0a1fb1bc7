/** Skills: SKILL.md files, plugins, and the three levels. */
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { renderIndex } from "../../src/context/sections.ts";
import { triggeredSkills } from "../../src/context/triggers.ts";
import { briefs, gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import type { Section } from "./requirement.ts";

const parse = "skill-runtime/parse-skill.test.ts";
const load = "skill-runtime/load.test.ts";
const toolbox = "skill-runtime/toolbox.test.ts";
const loadSkill = "skill-runtime/load-skill.test.ts";
const triggers = "context/triggers.test.ts";
const assemble = "context/assemble.test.ts";
const fixtures = resolve(import.meta.dirname, "../fixtures/skills-irregular");
/** Examples of the specification, as its page gives them. */
const examples = ["seed-colon", "always-on", "tools-json-schema", "crlf"].map((name) => join(fixtures, name));

export const skills: Section = {
  title: "skills",
  requirements: [
    {
      says: "a skill is a folder with a SKILL.md: YAML and a Markdown body",
      async check() {
        const set = await loadSkills(examples);
        expect(set.skills.map(({ name }) => name)).toEqual(["seed-colon", "always-on", "tools-json-schema", "crlf"]);
        expect(set.skills[0]?.description).toBe(
          "Systematic code review: correctness, style, security, and test coverage",
        );
      },
      shownBy: [["skill-runtime/irregular.test.ts", "$dir: $verdict"]],
    },
    {
      says: "only name and description are required",
      shownBy: [["skill-runtime/irregular.test.ts", "every case is in the report once, and nothing else is"]],
      differs: "Triggers are optional",
    },
    {
      says: "a higher version replaces a lower one of the same name",
      shownBy: [[load, "a later root goes before a higher version, and that before path order"]],
      differs: "Folders before versions",
    },
    {
      says: "triggers match whole words in any script",
      async check() {
        const set = await loadSkills([join(fixtures, "triggers-numbers")]);
        const found = (said: string) => triggeredSkills(briefs(set), said).length;
        expect([found("a 404 again"), found("4045"), found("use git")]).toEqual([1, 0, 1]);
      },
      shownBy: [
        [triggers, "in %j the word %j is found"],
        [triggers, "in %j the word %j is not found"],
      ],
    },
    {
      says: '`"*"` brings a pure skill into every message',
      async check() {
        const set = await loadSkills(examples);
        expect(triggeredSkills(briefs(set), "anything").map(({ brief }) => brief.name)).toEqual(["always-on"]);
      },
      shownBy: [[triggers, "a star is always there and comes first"]],
    },
    {
      says: "the bodies of triggered pure skills are in <skills>, the most relevant first",
      shownBy: [
        [assemble, "takes every triggered skill that the share has room for, and says what was left out and why"],
        [triggers, "more and longer matches are more relevant"],
      ],
      differs: "How many skills come in",
    },
    {
      says: "a triggered skill with tools brings in its body after the pure ones",
      shownBy: [
        [assemble, "the text of a triggered skill with tools follows the skills without, within the same share"],
        [triggers, "a triggered skill with tools comes after all skills without, however well it matches"],
      ],
      differs: "Triggers of skills with tools",
    },
    {
      says: "`skills check` warns about triggers that can never match, and about no others",
      shownBy: [
        [
          "skill-runtime/triggers.test.ts",
          "a trigger with a warning matches nothing, and one without matches at least its own words",
        ],
        ["skill-runtime/triggers.test.ts", '"*" of a skill with tools: a warning, and its words still work'],
      ],
    },
    {
      says: "the index has one line per skill, - **name** — description, in every prompt",
      async check() {
        const index = renderIndex(briefs(await loadSkills(examples)), 1_000);
        expect(index).toMatch(/^## Available skills\n/);
        expect(index).toContain("\n- **always-on** — Wildcard");
      },
      shownBy: [[assemble, "lists thousands of skills within its share: by name, then as many as fit"]],
    },
    {
      says: "`load_skill` gives the body and the list of bundled files, and with `file` one of them",
      shownBy: [
        [loadSkill, "gives the body without frontmatter, the folder and the bundled files"],
        [loadSkill, "reads one bundled file, cut at 100 KB with a note"],
      ],
    },
    {
      says: "`load_skill` never asks, whatever patterns say",
      async check() {
        const { builtInReaders } = gateRules(await loadSkills(examples));
        expect([...(builtInReaders ?? [])]).toEqual(["load_skill"]);
      },
      shownBy: [
        ["skill-runtime/built-in-tools.test.ts", "load_skill is safe whatever the patterns of skills say"],
        [
          "e2e/skills-in-use.test.ts",
          "patterns hold up no reading of skills, and the budget decides how many texts come in",
        ],
      ],
      differs: "Built-in read-only tools",
    },
    {
      says: "capabilities are always in <tools>: defined in the request, or named there and described when needed",
      shownBy: [
        ["context/request-bytes.test.ts", "is a request of at most 10.8 KB from %s"],
        ["context/request-bytes.test.ts", "stay described in its next turns, also after a restart, and nowhere else"],
        ["response/parse.test.ts", "and a call of the tool itself are the same, loaded or not"],
        ["e2e/skills-in-use.test.ts", "use_tool: what it calls is judged, asked about and recorded as the tool itself"],
      ],
      differs: "Tools on demand",
    },
    {
      says: "bundled files come through the file tools, read-only, and never from outside the skill's folder",
      shownBy: [
        [
          "skills-shipped/skill-files.test.ts",
          "reads the checklist of the shipped code review, and any other bundled file",
        ],
        ["skills-shipped/skill-files.test.ts", "never reads %s"],
        [
          "skills-shipped/skill-files.test.ts",
          "no tool writes there, lists it or searches it, and the refusal names load_skill",
        ],
      ],
    },
    {
      says: "`load_skill` looks names up and never joins them to a path",
      shownBy: [[loadSkill, "%j is no skill, and the answer says where the names are"]],
    },
    {
      says: "tools have name, description and parameters as JSON Schema, also as a flat map",
      async check() {
        const set = await loadSkills([join(fixtures, "tools-json-schema")]);
        expect(set.skills[0]?.tools[0]?.parameters).toMatchObject({ type: "object", required: ["a"] });
      },
      shownBy: [
        [
          "skill-runtime/schema.test.ts",
          "in a flat map an argument is required unless it says otherwise or has a default",
        ],
      ],
    },
    {
      says: "a skill whose requirements are missing or circular does not load, and says why",
      shownBy: [
        [
          "skill-runtime/irregular.test.ts",
          "a skill whose requirements are missing or circular is reported and not in force",
        ],
      ],
    },
    {
      says: "a skill that can't be used is skipped with file, line and reason, never silently or fatally",
      shownBy: [
        [parse, "any bytes give a skill or an error"],
        ["skill-runtime/library.test.ts", "each new finding is in the log once, with its file and line"],
      ],
    },
    {
      says: "skills of the public Agent Skills format load as they are",
      shownBy: [[parse, "the fields of the public format are no irregularity"]],
    },
    {
      says: "BOM, CRLF, tabs and unquoted colons are tolerated",
      shownBy: [
        [parse, "BOM, CRLF, spaces after --- and ... as the end are accepted as they are"],
        [parse, "an unquoted colon over several lines is read as one text"],
      ],
    },
    {
      says: "code in frontmatter is never run",
      shownBy: [["skill-runtime/irregular.test.ts", "nothing was evaluated and no prototype was touched"]],
    },
    {
      says: "plugins are plugin.ts, .js or .mjs with init?, execute and destroy?",
      shownBy: [
        [toolbox, "TypeScript, JavaScript in both module systems, and the other common shape are plugins"],
        [toolbox, "code is loaded at the first call, started once, and ended once at the close"],
      ],
      differs: "Names",
    },
    {
      says: "`execute` returns a string or { success, output, error?, retryable?, files? }",
      shownBy: [[toolbox, "%s is an attempt"]],
    },
    {
      says: "one broken plugin never takes the bot down",
      shownBy: [
        [toolbox, "%s is a failed attempt that may be repeated, because nothing ran, and other skills go on"],
        ["e2e/plugin-process.test.ts", "only fails its own call when it exits or is killed, and the next call works"],
      ],
    },
    {
      says: "of two tools with one name the later skill's wins, one definition is sent, and a warning names both",
      shownBy: [
        [toolbox, "of two tools with one name the later skill's runs, and one definition is offered"],
        [load, "two skills with one tool: a warning names both"],
      ],
    },
    {
      says: "edits are live at the next turn, also of plugins",
      shownBy: [
        ["skill-runtime/library.test.ts", "a changed, an added and a removed skill are in force without a restart"],
        [toolbox, "changed code is in force on the next call, and the old version is ended when its last call is over"],
      ],
    },
    {
      says: "`skills check` runs a skill's gate tests",
      shownBy: [
        ["skill-runtime/documentation.test.ts", "passes `remora skills check` without a word about it"],
        [parse, "gate tests are read with their lines, in each spelling"],
      ],
    },
    {
      says: "the shipped skills load without a warning",
      async check() {
        const set = await loadSkills([resolve(import.meta.dirname, "../../skills")]);
        expect(set.diagnostics).toEqual([]);
        const names = ["chat", "code-review", "filesystem", "git", "mcp", "memory", "planning", "schedule", "shell"];
        expect(set.skills.map(({ name }) => name)).toEqual(expect.arrayContaining([...names, "skills", "web"]));
      },
    },
    {
      says: "web fetches only public addresses, and connects to the address that it checked",
      shownBy: [
        ["skills-shipped/web-fetch.test.ts", "goes to the address that was checked, and carries the name alone"],
        [
          "skills-shipped/web-fetch.test.ts",
          "is not led elsewhere by a name that is answered differently the second time",
        ],
      ],
    },
    {
      says: "any MCP server is a capability, and each of its tools asks",
      shownBy: [["skills-shipped/mcp.test.ts", "turn up by themselves, ask in both ways of matching, and run"]],
    },
    {
      says: "the agent can write a skill after a person's approval, and it counts at once",
      shownBy: [
        [
          "skills-shipped/skills-skill.test.ts",
          "a skill is a file of the workspace, in force at once, and can be loaded",
        ],
      ],
    },
    {
      says: "skills can be allowed and denied by channel and conversation",
      shownBy: [[toolbox, "deny goes before allow, and a channel's filter holds for its threads"]],
    },
  ],
};
