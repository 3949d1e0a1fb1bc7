import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import type { JsonSchema, ToolSpec } from "../../src/ports/tool.ts";
import type { ParsedCall } from "../../src/ports/turn.ts";
import { readModel } from "../../src/response/parse.ts";
import { createSchemaChecker } from "../../src/response/schema-check.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { loadSkillSpec } from "../../src/skill-runtime/library/load-skill.ts";
import { noUsage } from "../doubles/scripted-provider.ts";

/** Every shipped tool, most of which a request only names. */
const shipped = await loadSkills([resolve(import.meta.dirname, "../../skills")]);
const tools: ToolSpec[] = [loadSkillSpec, ...shipped.skills.flatMap((skill) => skill.tools)];

async function readCall(name: string, inputJson: string, known = tools): Promise<ParsedCall> {
  async function* events(): AsyncGenerator<ModelEvent> {
    yield { type: "tool-call", id: "call_1", name, inputJson };
    yield { type: "end", stop: "tool-calls", usage: noUsage, model: "scripted/one" };
  }
  const answer = await readModel(events(), known, new Set(), { onText: () => {} });
  const [call] = answer.type === "answer" ? answer.calls : [];
  if (call === undefined) throw new Error("no call");
  return call;
}

interface Shape {
  what: string;
  source: string;
  name: string;
  input: unknown;
  runs: [name: string, input: object];
}

const inCallTool = (input: unknown) => ({ name: "call_tool", input });
const remembered: Shape["runs"] = ["remember", { text: "Ann likes tea" }];
const listed: Shape["runs"] = ["shell_exec", { command: "ls -la" }];
const read: Shape["runs"] = ["read_file", { path: "a.md" }];

/** `input` is text where the text itself is the shape. */
const shapes: Shape[] = [
  {
    what: "call_tool with arguments",
    source: "Hermes and Qwen templates; field.md",
    ...inCallTool({ name: "remember", arguments: { text: "Ann likes tea" } }),
    runs: remembered,
  },
  {
    what: "call_tool with parameters",
    source: "Llama 3.1's template; field.md",
    ...inCallTool({ name: "remember", parameters: { text: "Ann likes tea" } }),
    runs: remembered,
  },
  {
    what: "call_tool with tool_name and parameters",
    source: "Command R's template (llama.cpp, common/parsers/cohere2moe.cpp)",
    ...inCallTool({ tool_call_id: "0", tool_name: "remember", parameters: { text: "Ann likes tea" } }),
    runs: remembered,
  },
  {
    what: "call_tool with tool and args",
    source: "issue 39",
    ...inCallTool({ tool: "remember", args: { text: "Ann likes tea" } }),
    runs: remembered,
  },
  {
    what: "call_tool with a whole call of the OpenAI protocol",
    source: "issue 39",
    ...inCallTool({ type: "function", function: { name: "remember", arguments: '{"text":"Ann likes tea"}' } }),
    runs: remembered,
  },
  {
    what: "call_tool with the arguments beside the name",
    source: "issue 39",
    ...inCallTool({ name: "remember", text: "Ann likes tea" }),
    runs: remembered,
  },
  {
    what: "call_tool with the arguments as text",
    source: "ollama/ollama#12413, vllm-project/vllm#54964 (Granite 4)",
    ...inCallTool({ name: "remember", arguments: '{"text": "Ann likes tea"}' }),
    runs: remembered,
  },
  {
    what: "call_tool in call_tool",
    source: "issue 39",
    ...inCallTool({ name: "call_tool", input: { name: "remember", input: { text: "Ann likes tea" } } }),
    runs: remembered,
  },
  {
    what: "call_tool with the tool's name as the key",
    source: "Apertus' template (llama.cpp, common/chat-diff-analyzer.cpp: fun_name_is_key)",
    ...inCallTool({ remember: { text: "Ann likes tea" } }),
    runs: remembered,
  },
  {
    what: "call_tool with the skill beside the tool",
    source: "the prompt lists tools by skill",
    ...inCallTool({ skill: "memory", tool: "remember", text: "Ann likes tea" }),
    runs: remembered,
  },
  {
    what: "call_tool without input for a tool that takes none",
    source: "held before",
    ...inCallTool({ name: "schedule_list" }),
    runs: ["schedule_list", {}],
  },
  {
    what: "a named tool called directly",
    source: "held before",
    name: "remember",
    input: { text: "Ann likes tea" },
    runs: remembered,
  },
  {
    what: "a call repeated inside its own arguments",
    source: "ollama/ollama#11805, #17486 (qwen2.5, qwen3)",
    name: "remember",
    input: { name: "remember", arguments: { text: "Ann likes tea" } },
    runs: remembered,
  },
  {
    what: "a name in capitals",
    source: "anomalyco/opencode#10558",
    name: "Read_File",
    input: { path: "a.md" },
    runs: read,
  },
  {
    what: "a name in camel case",
    source: "lijunzh/koda#548",
    name: "readFile",
    input: { path: "a.md" },
    runs: read,
  },
  {
    what: "a name with a hyphen",
    source: "anomalyco/opencode#10558",
    name: "read-file",
    input: { path: "a.md" },
    runs: read,
  },
  {
    what: "a name behind functions.",
    source: "gpt-oss and Kimi templates (llama.cpp, common/parsers/gpt-oss.cpp, kimi-k2.cpp)",
    name: "functions.read_file:0",
    input: { path: "a.md" },
    runs: read,
  },
  {
    what: "a name behind default_api.",
    source: "issue 39",
    name: "default_api.read_file",
    input: { path: "a.md" },
    runs: read,
  },
  {
    what: "a name behind its skill",
    source: "issue 39",
    name: "filesystem/read_file",
    input: { path: "a.md" },
    runs: read,
  },
  {
    what: "bash with a command",
    source: "field.md; NousResearch/hermes-agent#90942 (qwen3, laguna)",
    name: "bash",
    input: { command: "ls -la" },
    runs: listed,
  },
  {
    what: "shell with cmd",
    source: "field.md; NousResearch/hermes-agent#111331",
    name: "shell",
    input: { cmd: "ls -la" },
    runs: listed,
  },
  {
    what: "a command of another agent, with its description and its background flag",
    source: "QwenLM/qwen-code#472, #1715",
    name: "run_shell_command",
    input: { command: "ls -la", description: "List the files", is_background: "false" },
    runs: ["shell_exec", { command: "ls -la", background: false }],
  },
  {
    what: "another agent's edit",
    source: "anomalyco/opencode#10558",
    name: "edit",
    input: { file_path: "a.md", old_string: "b", new_string: "c", replace_all: false },
    runs: ["edit_file", { path: "a.md", old_text: "b", new_text: "c", all: false }],
  },
  {
    what: "file_path for path",
    source: "cortexkit/aft#148 (GLM), LibreChat-AI/agents#250 (Kimi)",
    name: "read_file",
    input: { file_path: "a.md" },
    runs: read,
  },
  {
    what: "filePath for path",
    source: "cortexkit/aft#148 (GLM)",
    name: "read_file",
    input: { filePath: "a.md" },
    runs: read,
  },
  {
    what: "message_id for messageId",
    source: "gridbeario/gridbear#31",
    name: "chat_react",
    input: { emoji: ":tada:", message_id: "C1:1" },
    runs: ["chat_react", { emoji: ":tada:", messageId: "C1:1" }],
  },
  {
    what: "a number as text",
    source: "field.md; VibiumDev/vibium#85, anthropics/claude-code#24597",
    name: "recall",
    input: { query: "tea", limit: "3" },
    runs: ["recall", { query: "tea", limit: 3 }],
  },
  {
    what: "a text as a number, as it is written",
    source: "lmstudio-ai/lmstudio-bug-tracker#1626, agentscope-ai/QwenPaw#6839",
    name: "read_file",
    input: '{"path":"a.pdf","pages":1.10}',
    runs: ["read_file", { path: "a.pdf", pages: "1.10" }],
  },
  {
    what: "true as text",
    source: "lbjlaq/Antigravity-Manager#622 (Gemini)",
    name: "search_files",
    input: { text: "tea", regex: "True" },
    runs: ["search_files", { text: "tea", regex: true }],
  },
  {
    what: "null for an optional argument",
    source: "field.md; ZenRows/zenrows-mcp#23",
    name: "recall",
    input: { query: "tea", limit: null },
    runs: ["recall", { query: "tea" }],
  },
  {
    what: "an empty text for an optional argument",
    source: "can1357/oh-my-pi#2981 (minimax-m3, qwen3.7-plus)",
    name: "remember",
    input: { text: "Ann likes tea", title: "" },
    runs: remembered,
  },
  {
    what: "an empty network",
    source: "field.md",
    name: "shell_exec",
    input: { command: "ls -la", network: [] },
    runs: listed,
  },
  {
    what: "one value for a list",
    source: "openclaw/mcporter#126",
    name: "data_describe",
    input: { files: "sales.csv" },
    runs: ["data_describe", { files: ["sales.csv"] }],
  },
  {
    what: "a list of one for a value",
    source: "the reverse of openclaw/mcporter#126",
    name: "read_file",
    input: { path: ["a.md"] },
    runs: read,
  },
  {
    what: "a list as JSON text",
    source: "anthropics/claude-code#22394, #86459",
    name: "data_describe",
    input: { files: '["a.csv", "b.csv"]' },
    runs: ["data_describe", { files: ["a.csv", "b.csv"] }],
  },
  {
    what: "an empty extra key",
    source: "field.md",
    name: "read_file",
    input: { path: "a.md", encoding: null },
    runs: read,
  },
  {
    what: "a thought beside the arguments",
    source: "field.md",
    name: "read_file",
    input: { path: "a.md", explanation: "To see what it says" },
    runs: read,
  },
  {
    what: "single quotes and Python's literals",
    source: "field.md; NousResearch/atropos#478",
    name: "search_files",
    input: `{'text': "it's", 'regex': False, 'glob': None}`,
    runs: ["search_files", { text: "it's", regex: false }],
  },
  {
    what: "a trailing comma and a comment",
    source: "cline/cline#13015",
    name: "recall",
    input: '{"query": "tea", "limit": 3, // a few\n}',
    runs: ["recall", { query: "tea", limit: 3 }],
  },
  {
    what: "doubled braces",
    source: "field.md",
    name: "recall",
    input: '{{"query": "tea"}}',
    runs: ["recall", { query: "tea" }],
  },
  {
    what: "a line end inside a text",
    source: "issue 39",
    name: "write_file",
    input: '{"path":"a.md","content":"one\ntwo"}',
    runs: ["write_file", { path: "a.md", content: "one\ntwo" }],
  },
  {
    what: "arguments in a fence",
    source: "NousResearch/hermes-agent#79333",
    name: "read_file",
    input: '```json\n{"path": "a.md"}\n```',
    runs: read,
  },
  {
    what: "words after the arguments",
    source: "NousResearch/hermes-agent#79333",
    name: "read_file",
    input: '{"path": "a.md"}\nI read it first.',
    runs: read,
  },
  {
    what: "arguments encoded twice",
    source: "livekit/agents#5409 (Nova Sonic), quarkiverse/quarkus-langchain4j#2642",
    name: "read_file",
    input: JSON.stringify('{"path":"a.md"}'),
    runs: read,
  },
  {
    what: "arguments escaped as inside of a text",
    source: "digitalocean/langchain-gradient#31 (gpt-oss-20b)",
    name: "read_file",
    input: '{\\"path\\": \\"a.md\\"}',
    runs: read,
  },
];

test.each(shapes)("a call runs as it is meant: $what ($source)", async ({ name, input, runs: [tool, meant] }) => {
  const found = await readCall(name, typeof input === "string" ? input : JSON.stringify(input));
  expect(found).toMatchObject({ raw: { name: tool } });
  expect("call" in found ? found.call : found.problem).toEqual({ id: "call_1", name: tool, input: meant });
});

async function problemOf(name: string, input: unknown, known = tools): Promise<string> {
  const found = await readCall(name, typeof input === "string" ? input : JSON.stringify(input), known);
  if ("call" in found) throw new Error(`it would run: ${JSON.stringify(found.call)}`);
  return found.problem;
}

describe("a call never runs", () => {
  test.each([
    ["with a limit that the tool doesn't know", "shell_exec", { command: "make", dry_run: true }, '"dry_run"'],
    ["without what it excludes", "write_file", { path: "a", content: "b", overwrite: false }, '"overwrite"'],
    ["with another limit of its time", "shell_exec", { command: "make", timeout: 5 }, '"timeout"'],
    ["with a filter that the tool doesn't know", "recall", { query: "tea", author: "Ben" }, '"author"'],
    ["with words that the tool may have meant for people", "chat_post", { text: "Hi", reason: "news" }, '"reason"'],
    ["with a yes that is no boolean", "remember", { text: "x", shared: "yes" }, "shared must be boolean"],
    ["with 1 for true", "remember", { text: "x", replace: 1 }, "replace must be boolean"],
    ["with a number that is only part of the text", "recall", { query: "x", limit: "3 or 4" }, "limit must be integer"],
    ["with an id as a number", "recall", { query: "x", limit: "007" }, "limit must be integer"],
    ["with more than the tool allows", "recall", { query: "x", limit: "5000" }, "limit must be <= 20"],
    ["with a word that is none of the allowed ones", "schedule_add", { text: "x", when: "8", kind: "Do" }, "kind must"],
    ["with several files in one text", "data_describe", { files: "a.csv, b.csv" }, "files must be array"],
    ["with a path and another one", "read_file", { path: "a", file: "b" }, '"file"'],
    ["with two values for one argument", "shell_exec", { cmd: "ls", script: "id" }, "command is missing"],
    ["without what the tool needs", "edit_file", { path: "a", old_string: "b" }, "new_text is missing"],
    ["with null for what the tool needs", "read_file", { path: null }, "path is missing"],
  ])("%s", async (_what, name, input, told) => {
    expect(await problemOf(name, input)).toContain(told);
  });

  test.each([
    ["is not closed", '{"command":"rm -rf /tmp/x/bu'],
    ["has an open list", '{"command":"ls","network":["a.com"'],
    ["has an open object, in single quotes", "{'command': 'ls'"],
    ["has quotes inside of a text", '{"command":"echo "a" && rm -rf b"}'],
    ["ends a text at a quote inside of it", '{"command":"echo "}", "background": true}'],
    ["ends a text before what looks like a comment", '{"command":"echo "# a"\n}'],
    ["has an escape of another language", String.raw`{"command":"grep \d+ a"}`],
    ["has a text without quotes", '{"command": ls -la}'],
    ["has one key twice", `{'command': 'ls', 'command': 'id'}`],
    ["is followed by another call", '{"command":"ls"}\n{"command":"id"}'],
    ["is half of a call that is sent twice", '{"command":"ls"}{"command":"ls"}'],
  ])("whose JSON %s", async (_what, text) => {
    expect(await problemOf("shell_exec", text)).toContain("are not valid JSON");
  });

  const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;

  test.each([
    ["is nested without an end", "shell_exec", "{".repeat(100_000)],
    ["is nested too deep", "shell_exec", `{"command":${deep},}`],
    ["is nested too deep in that of another call", "use_tool", `{"name":"shell_exec","input":${deep}}`],
    ["is nested too deep in a text", "use_tool", JSON.stringify({ name: "shell_exec", input: `{"a":${deep}}` })],
  ])("whose JSON %s", async (_what, name, text) => {
    expect(await problemOf(name, text)).toMatch(/more than 200 deep\. Call it again with simple arguments\.$/);
  });

  test.each([
    ["python", { command: "print(1)" }, "To run code, call shell_exec with"],
    ["evil.read_file", { path: "a" }, "Closest: read_file"],
    ["read_file".repeat(20_000), { path: "a" }, "there is no tool"],
    ["x.".repeat(50_000), { path: "a" }, "there is no tool"],
    ["repo_browser.open_file", { path: "a" }, "Closest: "],
    ["github_create_issue", {}, 'there is no tool "github_create_issue"'],
    ["memory", { text: "x" }, 'memory is a skill: call load_skill with {"name":"memory"}'],
    ["final_answer", { answer: "42" }, "To answer, write text without a call."],
    ["bash", { code: "ls" }, 'there is no tool "bash"; shell_exec does the same, but the arguments'],
    ["str_replace_editor", { command: "view", path: "a" }, "there is no tool"],
  ])("of %s, and is told what to call instead", async (name, input, told) => {
    expect(await problemOf(name, input)).toContain(told);
  });

  test("of a name that two tools have in other letters", async () => {
    const [tool] = tools;
    if (tool === undefined) throw new Error("no tools");
    const two = ["read_it", "readIt"].map((name) => ({ ...tool, name }));
    expect(await problemOf("READ_IT", { name: "x" }, two)).toContain("Closest: read_it, readIt.");
    expect(await readCall("readIt", '{"name":"x"}', two)).toMatchObject({ call: { name: "readIt" } });
  });
});

/** Arguments of every kind that a schema can demand, some required. */
const kinds: { [kind: string]: JsonSchema } = {
  text: { type: "string" },
  name: { type: "string", minLength: 1 },
  whole: { type: "integer", minimum: 0 },
  number: { type: "number" },
  flag: { type: "boolean" },
  choice: { type: "string", enum: ["remind", "do", "1", "true"] },
  fixed: { const: "on" },
  hosts: { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
  counts: { type: "array", items: { type: "integer" } },
  options: { type: "object", properties: { deep: { type: "boolean" } }, additionalProperties: false },
  maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
  either: {
    anyOf: [
      { type: "object", properties: { a: { type: "integer" } } },
      { type: "array", items: { type: "string" } },
    ],
  },
  path: { type: "string" },
};
const anyTool: ToolSpec[] = [[], ["text"], ["flag"]].flatMap((required, index) =>
  [false, true].map((additionalProperties) => {
    const parameters = { type: "object", properties: kinds, required, additionalProperties };
    return {
      ...loadSkillSpec,
      name: `tool_${index}_${additionalProperties}`,
      skill: "sample",
      isReadOnly: index % 2 === 0,
      parameters,
    };
  }),
);

const oddTexts = [
  "",
  "true",
  "False",
  "yes",
  "null",
  "None",
  "3",
  "3.0",
  "-1",
  "007",
  "1e3",
  "9007199254740993",
  "[1]",
  "['a']",
  '["a","b"]',
  "{}",
  '{"deep":"true"}',
  "a, b",
  "Do",
  " do ",
];
const oddValue = fc.oneof(
  { arbitrary: fc.constantFrom(...oddTexts, null, true, false, 0, 1, 1.5, "on"), weight: 8 },
  fc.string({ maxLength: 8 }),
  fc.jsonValue({ maxDepth: 2 }).filter((value) => JSON.stringify(value) !== undefined),
);
const oddKey = fc.constantFrom(
  ...Object.keys(kinds),
  ...Object.keys(kinds),
  "Path",
  "file_path",
  "is_flag",
  "dry_run",
  "thought",
  "arguments",
  "__proto__",
);
const oddInput = fc
  .array(fc.tuple(oddKey, oddValue), { maxLength: 3 })
  .map((entries): { [key: string]: unknown } => JSON.parse(JSON.stringify(Object.fromEntries(entries))));

describe("whatever the arguments are", () => {
  const checker = createSchemaChecker();

  test("a call that runs fits its schema, stays as it is if it fitted, and is the same when it is read again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...anyTool), oddInput, async (tool, input) => {
        const text = JSON.stringify(input);
        const found = await readCall(tool.name, text, [tool]);
        const hasFitted = (await checker.check(tool.parameters, JSON.parse(text))).type === "fits";
        if (hasFitted)
          expect(found).toEqual({
            raw: { id: "call_1", name: tool.name, inputJson: text },
            call: { id: "call_1", name: tool.name, input: JSON.parse(text) },
          });
        if (!("call" in found)) return;
        expect((await checker.check(tool.parameters, found.call.input)).type).toBe("fits");
        expect(JSON.parse(found.raw.inputJson)).toEqual(found.call.input);
        expect(await readCall(tool.name, JSON.stringify(found.call.input), [tool])).toMatchObject({ call: found.call });
      }),
      { numRuns: 400 },
    );
  });

  test("no text that a schema accepts changes, no value is chosen, and no limit is left out", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...anyTool), oddInput, async (tool, input) => {
        if (Object.hasOwn(input, "arguments")) return;
        const found = await readCall(tool.name, JSON.stringify(input), [tool]);
        if (!("call" in found)) return;
        const ran: { [key: string]: unknown } = found.call.input;
        for (const [key, value] of Object.entries(input)) {
          if ((key === "text" || key === "path") && typeof value === "string") expect(ran[key]).toBe(value);
          if (key === "choice" && typeof value === "string" && value !== "") expect(ran[key]).toBe(value);
          if (key === "dry_run" && value === true) expect(ran[key]).toBe(true);
        }
        const asked = [input.flag, input.is_flag].map((value) => String(value).toLowerCase());
        if (ran.flag === true) expect(asked).toContain("true");
        if (ran.flag === false) expect(asked).toContain("false");
        if (ran.fixed !== undefined) expect(input.fixed).toBe("on");
      }),
      { numRuns: 400 },
    );
  });

  test("a part of them never runs, in whatever quotes, and the whole does", async () => {
    const quoted = (text: string) =>
      `{'command': '${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}', 'background': True,}`;
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom(..."ab'\"\\{}[],:# /*\n") }),
        fc.nat(),
        async (command, at) => {
          for (const whole of [JSON.stringify({ command, background: true }), quoted(command)]) {
            expect(await readCall("shell_exec", whole)).toMatchObject({
              call: { input: { command, background: true } },
            });
            const part = whole.slice(0, at % whole.length);
            if (part.trim() !== "") expect(await problemOf("shell_exec", part)).toContain("Not run:");
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
