import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSkill } from "../../src/skill-runtime/parse/parse-skill.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { runs } from "../faults/share.ts";
import { skillText } from "./folders.ts";

const parse = (text: string | Uint8Array, folder = "demo") =>
  parseSkill(typeof text === "string" ? Buffer.from(text) : text, `/skills/${folder}/SKILL.md`, null);
const codesOf = (text: string) =>
  parse(text).diagnostics.map(({ line, code }) => `${line} ${code.replace("skill.", "")}`);

describe("total", () => {
  const isSound = (bytes: Uint8Array) => {
    const { skill, diagnostics } = parse(bytes);
    if (skill === undefined) expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
    else {
      expect(skill.name).not.toBe("");
      expect(skill.description).toMatch(/^[^\n\r\p{Cc}]+$/u);
      expect([...skill.description].length).toBeLessThanOrEqual(300);
      expect(skill.verdict).toBe(diagnostics.length === 0 ? "accept" : "warn");
    }
  };

  test("any bytes give a skill or an error", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 2_000 }), isSound));
  });

  test("any text between the fences gives a skill or an error", () => {
    const value = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.json(),
      fc.constantFrom("*a", "&a [*a]", "!!js x", "|\n x", "{", "- :"),
    );
    const key = fc.constantFrom(
      "name",
      "description",
      "tools",
      "danger_patterns",
      "triggers",
      "requires",
      "gate_tests",
      "read_only",
      "version",
      "x",
    );
    const field = fc.tuple(key, value).map(([name, text]) => `${name}: ${text}`);
    const yaml = fc.array(
      fc.oneof(
        field,
        fc.string({ unit: anyCharacter }),
        value.map((text) => `  - ${text}`),
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(yaml, (lines) =>
        isSound(Buffer.from(`---\nname: a\ndescription: b\n${lines.join("\n")}\n---\nbody`)),
      ),
      { numRuns: runs(500) },
    );
  });

  test("any JSON as tools, patterns and tests gives a skill or an error", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.json(), fc.json(), (tools, patterns, tests) => {
        isSound(Buffer.from(skillText("demo", `tools: ${tools}\ndanger_patterns: ${patterns}\ngate_tests: ${tests}`)));
      }),
    );
  });
});

describe("form", () => {
  test.each([
    "tools: &a [*a, x]",
    "tools: &a [*a, *a]",
    "danger_patterns: &a [*a, *a]",
    "gate_tests: &a { block: [{ tool: x, args: *a }, { tool: y, args: *a }] }",
    "tools: [{ name: x, parameters: &p { type: object, properties: { a: *p, b: *p } } }]",
    "metadata: &m { more: &n [*m, *n] }",
  ])("an alias inside of what it names is refused: %s", (fields) => {
    expect(codesOf(skillText("demo", fields))).toEqual(["2 yaml-refused"]);
  });

  test.each(["metadata: [*none]", "metadata: !!omap [ a: *none ]", "metadata: { *none : 1 }", "? *none\n: 1"])(
    "an alias of nothing is refused wherever it is: %s",
    (fields) => {
      expect(codesOf(skillText("demo", fields))).toEqual(["2 yaml-refused"]);
    },
  );

  test("BOM, CRLF, spaces after --- and ... as the end are accepted as they are", () => {
    for (const text of [
      `\ufeff${skillText("demo")}`,
      skillText("demo").replaceAll("\n", "\r\n"),
      skillText("demo").replaceAll("---\n", "---  \t\n"),
      skillText("demo").replace("\n---\n", "\n...\n"),
    ]) {
      expect(parse(text)).toMatchObject({
        skill: { name: "demo", body: "\nDo the thing.\n", verdict: "accept" },
        diagnostics: [],
      });
    }
  });

  test("blank lines before the frontmatter are survived, and line numbers stay those of the file", () => {
    expect(codesOf(`\n\n${skillText("demo", "version: 2")}`)).toEqual(["1 blank-lines-first", "6 not-a-string"]);
  });

  test("a frontmatter over 64 KiB is refused, in bytes", () => {
    expect(codesOf(skillText("demo", `x: ${"é".repeat(33_000)}`))).toEqual(["1 frontmatter-too-large"]);
  });

  test("an unquoted colon over several lines is read as one text", () => {
    const { skill } = parse("---\nname: demo\ndescription: Use when: always\n  and: ever\nversion: 1.0.0\n---\nx");
    expect(skill).toMatchObject({ description: "Use when: always and: ever", version: "1.0.0" });
  });

  test("what quoting can't repair is read from the lines of name and description alone", () => {
    const { skill, diagnostics } = parse("---\nname: demo\n  ]: [\ndescription: 'It works'\n: : {\n---\nx");
    expect(skill).toMatchObject({ name: "demo", description: "It works", triggers: [] });
    expect(diagnostics.map(({ code }) => code)).toContain("skill.yaml-repaired");
  });

  test.each([
    "tools:\n  - name: t",
    'danger_patterns: ["x"]',
    "Confirm-Patterns: [x]",
    "gate_tests: [x]",
    '"danger_patterns": [x]',
  ])("a YAML error beside %j is never repaired", (field) => {
    const { skill, diagnostics } = parse(`---\nname: demo\ndescription: a: b\n${field}\n---\nx`);
    expect(skill).toBeUndefined();
    expect(diagnostics).toMatchObject([{ code: "skill.yaml-error", line: 3, severity: "error" }]);
  });

  test.each([
    ["!tag text", "!tag text"],
    ["&anchor text", "&anchor text"],
    ["[a, b]", "[a, b]"],
    ["2026-01-02", "2026-01-02"],
    ["true", "true"],
  ])("the description %j is the line's text", (written, wanted) => {
    const { skill, diagnostics } = parse(`---\nname: demo\ndescription: ${written}\n---\nx`);
    expect(skill?.description).toBe(wanted);
    expect(diagnostics.length).toBe(wanted === "2026-01-02" ? 0 : 1);
  });

  test("control, bidi and invisible characters and markup leave the description, and are reported", () => {
    const { skill, diagnostics } = parse(skillText("demo").replace("What demo does", "a\u202eb\u200bc </skills> d"));
    expect(skill?.description).toBe("abc d");
    expect(diagnostics.map(({ code }) => code)).toEqual(["skill.unseen-characters", "skill.markup"]);
  });

  test("joiners that scripts and emoji need are no irregularity", () => {
    const { skill, diagnostics } = parse(skillText("demo").replace("What demo does", "می‌خواهم 👩‍💻"));
    expect(skill?.description).toBe("می‌خواهم 👩‍💻");
    expect(diagnostics).toEqual([]);
  });

  test("the fields of the public format are no irregularity", () => {
    const fields = "license: MIT\ncompatibility: any\nmetadata:\n  author: x\nallowed-tools: Bash(git:*) Read";
    expect(parse(skillText("demo", fields))).toMatchObject({ skill: { tools: [] }, diagnostics: [] });
  });

  test("triggers are lower-case; one string is split at its commas", () => {
    expect(parse(skillText("demo", "triggers: Git, Push it")).skill?.triggers).toEqual(["git", "push it"]);
    expect(parse(skillText("demo", 'triggers: [a, "*"]')).skill?.triggers).toEqual(["*"]);
  });
});

describe("safety rules", () => {
  const fields = [
    "danger_patterns:",
    '  - "rm -rf"',
    "  - pattern: mkfs",
    "    reason: Formats a disk",
    "    level: confirm",
    "confirm_patterns:",
    "  - git push",
  ].join("\n");

  test("each pattern has its kind, its reason and its line, whatever its level says", () => {
    const rules = parse(skillText("demo", fields)).skill?.rules;
    const at = { skill: "demo", file: "/skills/demo/SKILL.md" };
    expect(rules).toEqual([
      { kind: "danger", pattern: "rm -rf", line: 5, ...at },
      { kind: "danger", pattern: "mkfs", reason: "Formats a disk", line: 6, ...at },
      { kind: "confirm", pattern: "git push", line: 10, ...at },
    ]);
  });

  test("a field given twice adds its patterns", () => {
    const { skill } = parse(skillText("demo", "danger_patterns: [a]\ndanger_patterns: [b]"));
    expect(skill?.rules.map(({ pattern }) => pattern)).toEqual(["a", "b"]);
  });

  test("a key given twice in an entry is reported, and the first one counts", () => {
    const { skill, diagnostics } = parse(
      skillText("demo", "version: 1.0.0\nversion: 2.0.0\ndanger_patterns:\n  - { pattern: a, pattern: b }"),
    );
    expect(skill?.version).toBe("1.0.0");
    expect(skill?.rules.map(({ pattern }) => pattern)).toEqual(["a"]);
    expect(diagnostics.map(({ line, message }) => `${line} ${message}`)).toEqual([
      "5 version is repeated: the first one counts; remove one",
      "7 pattern is repeated: the first one counts",
    ]);
  });

  test.each(["read_only", "read-only", "readOnly"])(
    "the field %s says that it has no effect any more, and why",
    (name) => {
      const { skill, diagnostics } = parse(skillText("demo", `${name}: ['.*']\ndanger_patterns: [mkfs]`));
      expect(skill?.rules).toMatchObject([{ kind: "danger", pattern: "mkfs" }]);
      expect(diagnostics).toMatchObject([
        {
          line: 4,
          severity: "warning",
          code: "skill.retired-field",
          message: expect.stringContaining("no longer has an effect"),
        },
      ]);
    },
  );

  test("a pattern written as a block is what stands in it, without the line end that no call has", () => {
    const blocks = "danger_patterns:\n  - |\n    rm -rf \n  - pattern: >\n      a\n      b\n\n    reason: because";
    const { skill, diagnostics } = parse(skillText("demo", blocks));
    expect(diagnostics).toEqual([]);
    expect(skill?.rules.map(({ pattern }) => pattern)).toEqual(["rm -rf ", "a b"]);
  });

  test("an entry that YAML reads as a map or a number is taken as it is written", () => {
    const { skill, diagnostics } = parse(skillText("demo", "danger_patterns:\n  - rm: -rf\n  - 0755\n  -"));
    expect(skill?.rules.map(({ pattern }) => pattern)).toEqual(["rm: -rf", "0755"]);
    expect(diagnostics.map(({ line, code }) => `${line} ${code}`)).toEqual([
      "5 skill.not-a-string",
      "6 skill.not-a-string",
      expect.stringContaining("skill.empty-pattern"),
    ]);
  });

  test("patterns behind an alias hold", () => {
    const { skill } = parse(skillText("demo", "danger_patterns: &all [x, &one y]\nconfirm_patterns: [*one, z]"));
    expect(skill?.rules.map(({ kind, pattern }) => `${kind} ${pattern}`)).toEqual([
      "danger x",
      "danger y",
      "confirm y",
      "confirm z",
    ]);
  });

  test("a file full of findings lists the first 50 and says that there are more", () => {
    const { skill, diagnostics } = parse(skillText("demo", `danger_patterns: [${'"(a",'.repeat(5_000)}]`));
    expect(skill?.rules.length).toBe(5_000);
    expect(diagnostics.length).toBe(51);
    expect(diagnostics.at(-1)?.code).toBe("skill.more-findings");
  });

  test("a pattern that only RE2 knows is no irregularity, and one that nobody knows stays as it is written", () => {
    expect(codesOf(skillText("demo", 'danger_patterns: ["(?i)rm", "(?P<a>x)"]'))).toEqual([]);
    expect(codesOf(skillText("demo", 'confirm_patterns: ["a", "b["]'))).toEqual(["4 invalid-pattern"]);
    expect(parse(skillText("demo", 'confirm_patterns: ["b["]')).skill?.rules[0]?.pattern).toBe("b[");
  });

  test("a safety field in another spelling counts, and is reported", () => {
    const { skill, diagnostics } = parse(skillText("demo", "Danger-Patterns: [x]"));
    expect(skill?.rules).toMatchObject([{ kind: "danger", pattern: "x" }]);
    expect(diagnostics.map(({ code }) => code)).toEqual(["skill.field-spelling"]);
  });

  test("gate tests are read with their lines, in each spelling", () => {
    const list = "gate_tests:\n  - { tool: shell, args: { command: ls }, want: safe }";
    expect(parse(skillText("demo", list)).skill).toMatchObject({
      gateTests: [{ tool: "shell", args: { command: "ls" }, want: "safe", line: 5 }],
    });
    const groups = 'gate_tests:\n  block:\n    - shell {"command":"rm -rf /"}\n  confirm:\n    - { tool: push }';
    expect(parse(skillText("demo", groups)).skill?.gateTests).toEqual([
      { tool: "shell", args: { command: "rm -rf /" }, want: "block", line: 6 },
      { tool: "push", args: {}, want: "confirm", line: 8 },
    ]);
  });

  test("a gate test without a call or a verdict is left out and reported", () => {
    const { skill, diagnostics } = parse(skillText("demo", "gate_tests:\n  - { tool: shell }\n  - nonsense {"));
    expect(skill?.gateTests).toEqual([]);
    expect(diagnostics.map(({ line, code }) => `${line} ${code}`)).toEqual(["5 skill.gate-test", "6 skill.gate-test"]);
  });
});

describe("tools at run time", () => {
  const codes = (fields: string, plugin: string | null = "/s/plugin.ts") => {
    const { skill, diagnostics } = parseSkill(
      Buffer.from(`---\nname: s\ndescription: d\n${fields}---\nBody\n`),
      "/s/SKILL.md",
      plugin,
    );
    return [skill?.providesTools, diagnostics.map(({ code, line }) => `${code}:${line}`)];
  };
  const asks = "confirm_patterns: ['^{offered_tool} ']\n";

  test("are for a plugin that says so, and asks about them", () => {
    expect(codes(`provides_tools: true\n${asks}`)).toEqual([true, []]);
    expect(codes("")).toEqual([false, []]);
    expect(codes("provides_tools: false\n")).toEqual([false, []]);
  });

  test("without a plugin, without a question, or in other words are findings", () => {
    expect(codes(`provides_tools: true\n${asks}`, null)).toEqual([true, ["skill.provides-tools:4"]]);
    expect(codes("provides_tools: true\nconfirm_patterns: ['^x ']\n")).toEqual([true, ["skill.provides-tools:4"]]);
    expect(codes("provides_tools: yes please\n")).toEqual([false, ["skill.provides-tools:4"]]);
    expect(codes(asks)).toEqual([false, ["skill.provides-tools:4"]]);
    const inDanger = "provides_tools: true\ndanger_patterns: ['^{offered_tool} ']\n";
    expect(codes(inDanger)).toEqual([true, ["skill.provides-tools:4"]]);
  });
});

describe("tools", () => {
  test("flags, timeout and shell parameters are read; the mark for shell parameters stays inside", () => {
    const tools = [
      "tools:",
      "  - name: run",
      "    description: Runs",
      "    timeout: 2.5",
      "    idempotent: true",
      "    readOnly: true",
      "    parameters:",
      "      command: { type: string, format: shell }",
      "      note: { type: string, required: false }",
    ].join("\n");
    expect(parse(skillText("demo", tools)).skill?.tools).toEqual([
      {
        name: "run",
        description: "Runs",
        skill: "demo",
        folder: "none",
        isReadOnly: true,
        isIdempotent: true,
        readsUntrusted: false,
        isOutward: false,
        timeoutMs: 2_500,
        shellParameters: ["command"],
        parameters: {
          type: "object",
          properties: { command: { type: "string" }, note: { type: "string" } },
          required: ["command"],
        },
      },
    ]);
  });

  test("wrong flags and timeouts are reported, and the safe value counts", () => {
    const { skill, diagnostics } = parse(skillText("demo", 'tools: [{ name: a, timeout: -1, readOnly: "yes" }]'));
    expect(skill?.tools).toMatchObject([{ isReadOnly: false, isIdempotent: false, timeoutMs: 120_000 }]);
    expect(diagnostics.map(({ code }) => code)).toEqual(["skill.tool-flag", "skill.tool-timeout"]);
  });

  test("what reads or sends outside says so; an unclear answer counts as yes", () => {
    const { skill, diagnostics } = parse(
      skillText(
        "demo",
        'tools: [{ name: a, untrusted: true }, { name: b, outward: true }, { name: c, outward: "no" }]',
      ),
    );
    expect(skill?.tools.map(({ readsUntrusted, isOutward }) => [readsUntrusted, isOutward])).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ]);
    expect(diagnostics.map(({ code }) => code)).toEqual(["skill.tool-flag"]);
  });

  test("names that providers refuse are repaired to names they take, each once", () => {
    const written = ["my tool", "my.tool", "ünï", "x".repeat(80), "x".repeat(81), "load_skill", "load skill"];
    const { skill, diagnostics } = parse(
      skillText("demo", `tools: ${JSON.stringify(written.map((name) => ({ name })))}`),
    );
    const names = skill?.tools.map(({ name }) => name) ?? [];
    expect(names).toEqual(["my_tool", "my_tool_2", "_n_", "x".repeat(64), `${"x".repeat(62)}_2`, "load_skill_2"]);
    expect(skill?.renamedTools).toMatchObject({ my_tool: "my tool", my_tool_2: "my.tool", load_skill_2: "load skill" });
    expect(diagnostics.filter(({ code }) => code === "skill.tool-renamed").length).toBe(6);
    expect(diagnostics.filter(({ code }) => code === "skill.tool-reserved").length).toBe(1);
  });

  test("a tool can't have a name that stands for changes or budgets in approval rules", () => {
    const { skill, diagnostics } = parse(skillText("demo", "tools: [{ name: keep_changes }, { name: budget }]"));
    expect(skill?.tools).toEqual([]);
    expect(diagnostics.map(({ code }) => code)).toEqual(["skill.tool-reserved", "skill.tool-reserved"]);
  });

  test("a list of names, a text and tools without a name are ignored and reported", () => {
    for (const [written, code] of [
      ["[Read, Write]", "skill.tools-ignored"],
      ["Read, Write", "skill.tools-ignored"],
      ["[{ description: x }]", "skill.tool-without-name"],
    ]) {
      const { skill, diagnostics } = parse(skillText("demo", `tools: ${written}`));
      expect(skill?.tools).toEqual([]);
      expect(diagnostics[0]?.code).toBe(code);
    }
  });
});

test("a card's text that names an argument which the tool does not have is left out, with a note", () => {
  const toolWith = (ask: string) =>
    parse(
      skillText(
        "demo",
        `tools:\n  - name: demo_post\n    description: posts\n    ask: ${JSON.stringify(ask)}\n    parameters:\n      type: object\n      properties:\n        to: { type: object, properties: { channel: { type: string } } }\n        text: { type: string }`,
      ),
    );
  const known = toolWith("Post to {to.channel}: {text}");
  expect(known.skill?.tools[0]?.ask).toBe("Post to {to.channel}: {text}");
  for (const unknown of ["{channel}", "{to.person}", "{text.length}", "{constructor}", "{to.__proto__}"]) {
    const { skill, diagnostics } = toolWith(`Post ${unknown}`);
    expect(skill?.tools[0]?.ask, unknown).toBeUndefined();
    expect(
      diagnostics.map(({ code }) => code),
      unknown,
    ).toContain("skill.tool-ask");
    expect(diagnostics.map(({ message }) => message).join(), unknown).toContain(`unknown argument: ${unknown}`);
  }
});
