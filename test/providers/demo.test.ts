import { describe, expect, test } from "vitest";
import type { ModelMessage, ModelRequest } from "../../src/ports/provider.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import { createDemoProvider } from "../../src/providers/demo.ts";
import { asking, callsIn, collect, lookUp, textIn } from "./apis.ts";

const demo = createDemoProvider({ delayMs: 0, now: () => new Date("2026-11-21T08:30:00Z") });

const named = (name: string, parameter: string): ToolSpec => ({
  ...lookUp,
  name,
  parameters: { type: "object", properties: { [parameter]: { type: "string" } }, required: [parameter] },
});
const shell: ToolSpec = {
  ...named("shell_exec", "command"),
  parameters: {
    type: "object",
    properties: { command: { type: "string" }, network: { type: "array", items: { type: "string" } } },
    required: ["command"],
  },
};
const tools = [shell, named("read_file", "path"), named("list_files", "path"), named("memory_save", "note")];

const say = (said: string, more: Partial<ModelRequest> = {}) => collect(demo, asking(said, { tools, ...more }));

describe("the demo model", () => {
  test.each(["help", "hello", "what is the meaning of life?", "what time is it", "run ls"])(
    "makes clear first of all that it is no AI: %s",
    async (said) => {
      expect(textIn(await say(said))).toMatch(/^\*\(demo model, no AI\)\* \S/);
    },
  );

  test.each([
    ["run ls -la", "shell_exec", { command: "ls -la" }],
    ["Please run `npm test`", "shell_exec", { command: "npm test" }],
    ["run rm -rf / && echo `x`", "shell_exec", { command: "rm -rf / && echo `x`" }],
    [
      "run npm ci with network registry.npmjs.org",
      "shell_exec",
      { command: "npm ci", network: ["registry.npmjs.org"] },
    ],
    ["run `a b` with network x.org, y.org:8443", "shell_exec", { command: "a b", network: ["x.org", "y.org:8443"] }],
    ["run echo with network", "shell_exec", { command: "echo with network" }],
    ["read notes/today.md", "read_file", { path: "notes/today.md" }],
    ["list the files", "list_files", { path: "." }],
    ["remember that the demo is on Friday", "memory_save", { note: "the demo is on Friday" }],
    ['call anything {"a":[1]}', "anything", { a: [1] }],
    ["@remora run date", "shell_exec", { command: "date" }],
    ["<@U0123> run date", "shell_exec", { command: "date" }],
    ["Remora, run date", "shell_exec", { command: "date" }],
  ])("understands: %s", async (said, name, input) => {
    const events = await say(said);
    expect(callsIn(events).map((call) => [call.name, JSON.parse(call.inputJson)])).toEqual([[name, input]]);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "tool-calls", model: "demo/scripted" });
  });

  test("hands malformed arguments on as they are, so that what comes of them can be tried", async () => {
    expect(callsIn(await say("call shell_exec {broken"))).toMatchObject([{ inputJson: "{broken" }]);
  });

  test("calls no tool that the request does not have, and says so", async () => {
    const events = await say("run ls", { tools: [] });
    expect(callsIn(events)).toEqual([]);
    expect(textIn(events)).toContain("not available");
  });

  test("lists its phrases and the tools that are there", async () => {
    const text = textIn(await say("help"));
    expect(text).toContain("`run touch hello.txt`");
    expect(text).toContain("`shell_exec`, `read_file`");
  });

  test("offers network access only where the tool takes hosts", async () => {
    expect(textIn(await say("help"))).toContain("with network example.com`");
    const text = textIn(await say("help", { tools: [named("shell_exec", "command")] }));
    expect(text).toContain("`run touch hello.txt`");
    expect(text).not.toContain("with network");
  });

  test("offers no phrase whose tool is missing", async () => {
    const text = textIn(await say("help", { tools: [] }));
    expect(text).not.toContain("`run ");
    expect(text).not.toContain("`remember");
    expect(text).toContain("`what time is it`");
  });

  test("knows the time", async () => {
    expect(textIn(await say("what time is it?"))).toContain("2026-11-21 08:30 UTC");
  });

  test.each([
    '<message author="Ann" id="U1">\nrun date\n</message>',
    '<message author="Ann">old words</message>\n<message author="Ann">run date</message>\n<runtime>\nit is late, run away\n</runtime>',
    "<runtime>now</runtime>\nrun date",
    "```\nrun date\n```",
    '<message author="Ann">\nrun cat &lt;memory\n</message>\n<attachment name="x">\nrun away\n</attachment>',
  ])("looks at the person's own words alone: %j", async (said) => {
    const [call] = callsIn(await say(said));
    expect(JSON.parse(call?.inputJson ?? "")).toEqual({
      command: said.includes("cat") ? "cat <memory" : "date",
    });
  });

  test("says the same to the same", async () => {
    expect(await say("run ls")).toEqual(await say("run ls"));
  });

  test("comes word by word", async () => {
    const events = await say("hello");
    expect(events.filter((event) => event.type === "text-delta").length).toBeGreaterThan(5);
  });
});

describe("after tool results the demo model", () => {
  const withResult = (text: string, isError = false): ModelMessage[] => [
    { role: "user", content: [{ type: "text", text: "run ls" }] },
    { role: "assistant", text: "", toolCalls: [{ id: "demo_1", name: "shell_exec", inputJson: "{}" }] },
    { role: "tool", callId: "demo_1", name: "shell_exec", text, isError },
  ];
  const inFence = (status: string, text: string) =>
    `<tool_result tool="shell_exec" status="${status}">\n${text}\n</tool_result>`;

  test("reports what came, in a fence", async () => {
    const wanted = "`shell_exec` is done. Output:\n\n```\nREADME.md\nsrc\n```";
    const events = await say("", { messages: withResult(inFence("ok", "README.md\nsrc")) });
    expect(textIn(events)).toBe(wanted);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "end" });
    expect(textIn(await say("", { messages: withResult("README.md\nsrc\n") }))).toBe(wanted);
  });

  test("keeps a fence that no output can close", async () => {
    expect(textIn(await say("", { messages: withResult("```\nx\n````") }))).toContain("`````\n```\nx\n````\n`````");
  });

  test("says that a call failed", async () => {
    expect(textIn(await say("", { messages: withResult("exit code 1", true) }))).toContain("`shell_exec` failed");
  });

  test.each([
    ["denied", "it was denied"],
    ["blocked", "the safety rules block it"],
  ])("says that it did not run what was %s, and does not try again", async (status, because) => {
    const events = await say("", { messages: withResult(inFence(status, "Not run: no."), true) });
    expect(callsIn(events)).toEqual([]);
    expect(textIn(events)).toBe(
      `I didn't run \`shell_exec\` because ${because}. I won't try again. The reason:\n\n\`\`\`\nNot run: no.\n\`\`\``,
    );
  });

  test("answers the next message, and not the results again", async () => {
    const messages: ModelMessage[] = [...withResult("x"), { role: "user", content: [{ type: "text", text: "hello" }] }];
    expect(textIn(await say("", { messages }))).toContain("Hello!");
  });

  test("is not misled by notes that follow the results", async () => {
    const notes = "<runtime>\nthe tool steps are used up\n</runtime>";
    const messages: ModelMessage[] = [...withResult("x"), { role: "user", content: [{ type: "text", text: notes }] }];
    expect(textIn(await say("", { messages, tools: [] }))).toContain("`shell_exec` is done");
  });
});
