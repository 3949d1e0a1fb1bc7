import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import type { ModelEvent, StopReason } from "../../src/ports/provider.ts";
import type { JsonSchema, ToolSpec } from "../../src/ports/tool.ts";
import type { ParsedCall, ReadAnswer } from "../../src/ports/turn.ts";
import { readModel } from "../../src/response/parse.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { noUsage } from "../doubles/scripted-provider.ts";

function tool(name: string, parameters: JsonSchema): ToolSpec {
  const rest = { description: "", skill: "sample", isReadOnly: false, isIdempotent: false, timeoutMs: 1_000 };
  return { name, parameters, ...rest, readsUntrusted: false, isOutward: false, folder: "none", shellParameters: [] };
}

const exec = tool("shell_exec", {
  type: "object",
  properties: { command: { type: "string" }, count: { type: "integer" } },
  required: ["command"],
  additionalProperties: false,
});
const clock = tool("clock", { type: "object", properties: {} });

async function* stream(events: ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

const end = (stop: StopReason = "end"): ModelEvent => ({ type: "end", stop, usage: noUsage, model: "scripted/one" });
const say = (text: string): ModelEvent => ({ type: "text-delta", text });
const call = (name: string, inputJson: string, id = "call_1"): ModelEvent => ({
  type: "tool-call",
  id,
  name,
  inputJson,
});

async function read(events: ModelEvent[], tools = [exec, clock], used: string[] = []) {
  const shown: string[] = [];
  const answer = await readModel(stream(events), tools, new Set(used), { onText: (text) => shown.push(text) });
  return { answer, shown };
}

async function parsed(...events: ModelEvent[]): Promise<ParsedCall[]> {
  const { answer } = await read([...events, end("tool-calls")]);
  return callsOf(answer);
}

function callsOf(answer: ReadAnswer): ParsedCall[] {
  if (answer.type !== "answer") throw new Error(answer.error.message);
  return answer.calls;
}

function problemOf(calls: ParsedCall[], index = 0): string {
  const found = calls[index];
  if (found === undefined || !("problem" in found)) throw new Error(`not a problem: ${JSON.stringify(found)}`);
  return found.problem;
}

describe("the text of an answer", () => {
  test("is handed on as it grows, whole each time", async () => {
    const { answer, shown } = await read([say("One "), say("two"), end()]);
    expect(shown).toEqual(["One ", "One two"]);
    expect(answer).toMatchObject({ type: "answer", text: "One two", stop: "end", model: "scripted/one", calls: [] });
  });

  test("loses control characters, and keeps newlines and tabs", async () => {
    const { answer } = await read([say("a\u0000b\u001b[31mc\r\n\td\u0085e\u007f"), end()]);
    expect(answer.text).toBe("ab[31mc\n\tde");
  });

  test("keeps a character whose halves come in two pieces, and drops halves that stay alone", async () => {
    const { answer, shown } = await read([say("a\ud83d"), say("\ude00b\ude00"), say("c\ud83d"), end()]);
    expect(answer.text).toBe("a😀bc");
    for (const text of shown) expect(text.isWellFormed()).toBe(true);
  });

  test("begins again when it turns out to have been thinking, and people keep nothing of that", async () => {
    const later = await read([say("They ask"), { type: "retract" }, say("Hello"), end()]);
    expect([later.shown, later.answer.text, later.answer.broken]).toEqual([
      ["They ask", "Hello", "Hello"],
      "Hello",
      [],
    ]);
    const never = await read([say("They ask"), { type: "retract" }, call("clock", "{}"), end("tool-calls")]);
    expect([never.shown.at(-1), never.answer.text]).toEqual(["", ""]);
  });

  test("is the same however it is cut into pieces, and always well-formed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: anyCharacter }),
        fc.array(fc.nat(30), { maxLength: 5 }),
        async (text, cuts) => {
          const places = [...new Set([0, ...cuts.filter((cut) => cut < text.length), text.length])].sort(
            (a, b) => a - b,
          );
          const pieces = places.slice(1).map((to, index) => text.slice(places[index], to));
          const whole = await read([say(text), end()]);
          const cut = await read([...pieces.map(say), end()]);
          expect(cut.answer.text).toBe(whole.answer.text);
          expect(whole.answer.text.isWellFormed()).toBe(true);
        },
      ),
    );
  });

  test("said before a failure comes with the failure, and no call of it counts", async () => {
    const error = new RemoraError({ code: "provider.cut", place: "provider x", message: "cut", isRetryable: true });
    const { answer } = await read([say("Half"), call("clock", "{}"), { type: "error", error }]);
    expect(answer).toEqual({ type: "failed", text: "Half", broken: [], error });
  });

  test("without an end is a failure", async () => {
    const { answer } = await read([say("Half")]);
    expect(answer).toMatchObject({ type: "failed", text: "Half", error: { code: "provider.cut", isRetryable: true } });
  });
});

describe("a tool call", () => {
  test("that fits its schema is parsed", async () => {
    const [first] = await parsed(call("shell_exec", '{"command":"ls","count":2}'));
    expect(first).toMatchObject({ call: { id: "call_1", name: "shell_exec", input: { command: "ls", count: 2 } } });
  });

  test.each(["", " ", "{}", "null"])(
    "without arguments (%j) counts as {} where the tool needs none",
    async (inputJson) => {
      const [first] = await parsed(call("clock", inputJson));
      expect(first).toMatchObject({ call: { input: {} } });
    },
  );

  test("without arguments is a problem where the tool needs some", async () => {
    expect(problemOf(await parsed(call("shell_exec", "")))).toContain("command is missing");
  });

  test.each(['{"command":"ls"', "{command: ls}", "ls", '{"command":"ls"}{"command":"id"}', "undefined"])(
    "with malformed arguments %j is a problem that says so",
    async (inputJson) => {
      expect(problemOf(await parsed(call("shell_exec", inputJson)))).toMatch(/shell_exec are not valid JSON/);
    },
  );

  test.each([
    ["[1]", "an array"],
    ['"ls"', "a string"],
    ["3", "a number"],
  ])("with %s instead of an object is a problem", async (inputJson, kind) => {
    expect(problemOf(await parsed(call("shell_exec", inputJson)))).toContain(`not ${kind}`);
  });

  test("that breaks its schema is told every argument that is wrong, and what it takes", async () => {
    expect(problemOf(await parsed(call("shell_exec", '{"count":"two","extra":1}')))).toBe(
      "Not run: the arguments of shell_exec don't fit its schema: command is missing; " +
        'has the unknown argument "extra" (it takes command, count); count must be integer, not "two". ' +
        "Call it again with arguments that fit.",
    );
    expect(problemOf(await parsed(call("shell_exec", '{"comand":1}')))).toContain("did you mean command?");
  });

  test("of an unknown tool is told the closest ones, then which tools there are", async () => {
    expect(problemOf(await parsed(call("exec_all", "{}")))).toBe(
      'Not run: there is no tool "exec_all". Closest: shell_exec. The tools are: shell_exec, clock.',
    );
    expect(problemOf(await parsed(call("weather", "{}")))).toBe(
      'Not run: there is no tool "weather". The tools are: shell_exec, clock.',
    );
  });

  test("is a problem when there are no tools at all", async () => {
    const { answer } = await read([call("clock", "{}"), end("tool-calls")], []);
    expect(problemOf(callsOf(answer))).toContain("answer in text");
  });

  test("names no tool by what every object has", async () => {
    expect(problemOf(await parsed(call("constructor", "{}")))).toContain("there is no tool");
  });

  test("beside a bad one is parsed all the same", async () => {
    const calls = await parsed(call("shell_exec", "{", "a"), call("clock", "", "b"));
    expect(problemOf(calls)).toContain("not valid JSON");
    expect(calls[1]).toMatchObject({ call: { id: "b" } });
  });

  test.each(['{"command":"rm -r', '{"command":"ls"}', ""])(
    "at the output limit is never run, even if its arguments %j look whole",
    async (inputJson) => {
      const { answer } = await read([call("clock", "", "a"), call("shell_exec", inputJson, "b"), end("max-tokens")]);
      const calls = callsOf(answer);
      expect(calls[0]).toMatchObject({ call: { id: "a" } });
      expect(problemOf(calls, 1)).toContain("output limit");
    },
  );
});

describe("the id of a call", () => {
  test("is the model's own where it can be", async () => {
    const [first] = await parsed(call("clock", "", "toolu_01Ab-c"));
    expect(first?.raw.id).toBe("toolu_01Ab-c");
  });

  test("is made unique in the answer and in the turn", async () => {
    const { answer } = await read(
      [call("clock", "", "x"), call("clock", "", "x"), call("clock", "", "y"), end()],
      undefined,
      ["y"],
    );
    expect(callsOf(answer).map(({ raw }) => raw.id)).toEqual(["x", "x-2", "y-2"]);
  });

  test("is unique and safe for services, jobs and files, whatever the model gives", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ maxLength: 80 })), fc.array(fc.string()), async (ids, used) => {
        const { answer } = await read([...ids.map((id) => call("clock", "", id)), end("tool-calls")], undefined, used);
        const made = callsOf(answer).map((found) => found.raw.id);
        expect(new Set([...made, ...used]).size).toBe(made.length + new Set(used).size);
        for (const id of made) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        for (const found of callsOf(answer)) expect("call" in found && found.call.id).toBe(found.raw.id);
      }),
    );
  });
});

describe("the schema of a tool", () => {
  const readWith = async (parameters: JsonSchema, inputJson: string) => {
    const { answer } = await read([call("it", inputJson), end("tool-calls")], [tool("it", parameters)]);
    return callsOf(answer);
  };

  test.each([
    { type: "nonsense" },
    { type: "object", properties: { a: { type: 3 } } },
    { type: "object", properties: { a: { $ref: "#/$defs/missing" } } },
    { $async: true, type: "object" },
  ])("that is none (%j) is a problem that names the skill, and the call is not run", async (parameters) => {
    const problem = problemOf(await readWith(parameters, "{}"));
    expect(problem).toContain("the skill sample has no valid JSON Schema");
  });

  test("may be of the 2020-12 dialect, as MCP servers give", async () => {
    const parameters = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false } },
    };
    expect(await readWith(parameters, '{"pair":["a",1]}')).toMatchObject([{ call: {} }]);
    expect(problemOf(await readWith(parameters, '{"pair":["a",1,2]}'))).toContain(
      "pair must NOT have more than 2 items",
    );
  });

  test("may carry a dialect, formats and keywords that are not known here", async () => {
    const parameters = {
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "same-id",
      type: "object",
      properties: { command: { type: "string", format: "shell", "x-note": 1 } },
    };
    expect(await readWith(parameters, '{"command":"ls"}')).toMatchObject([{ call: {} }]);
    expect(await readWith({ ...parameters }, '{"command":"ls"}')).toMatchObject([{ call: {} }]);
  });

  test("decides, and no text ever becomes a call that breaks it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (inputJson) => {
        const [found] = await parsed(call("shell_exec", inputJson));
        if (found === undefined || !("call" in found)) return;
        expect(typeof found.call.input.command).toBe("string");
      }),
    );
  });
});

describe("a call of use_tool", () => {
  const long = { ...exec, description: "x".repeat(8_000) };
  const wrap = (name: unknown, input: unknown, more: object = {}) =>
    call("use_tool", JSON.stringify({ name, input, ...more }));
  const parse = async (...events: ModelEvent[]) => callsOf((await read([...events, end()], [long, clock])).answer);

  test("becomes the call that it names, in every field", async () => {
    const [first] = await parse(wrap("shell_exec", { command: "ls" }));
    expect(first).toEqual({
      raw: { id: "call_1", name: "shell_exec", inputJson: '{"command":"ls"}' },
      call: { id: "call_1", name: "shell_exec", input: { command: "ls" } },
    });
    // Some models write the arguments as text, or leave out empty ones.
    expect(await parse(wrap("shell_exec", '{"command":"ls"}'))).toMatchObject([{ call: { input: { command: "ls" } } }]);
    expect(await parse(call("use_tool", '{"name":"clock"}'))).toMatchObject([{ call: { name: "clock", input: {} } }]);
  });

  test("and a call of the tool itself are the same, loaded or not", async () => {
    const [wrapped] = await parse(wrap("shell_exec", { command: "ls" }));
    const [direct] = await parse(call("shell_exec", '{"command":"ls"}'));
    expect(direct).toEqual(wrapped);
  });

  test("whose arguments don't fit tells what the tool takes", async () => {
    for (const event of [wrap("shell_exec", { order: "ls" }), call("shell_exec", '{"order":"ls"}')]) {
      const problem = problemOf(await parse(event));
      expect(problem).toContain('has the unknown argument "order"');
      expect(problem).toContain("### shell_exec");
      expect(problem).toContain("- command: string\n- count?: integer");
    }
  });

  test.each([
    ["no name", '{"input":{}}'],
    ["a name that is not text", '{"name":["shell_exec"],"input":{"command":"ls"}}'],
    ["two names", '{"tool":"shell_exec","function":"clock","input":{"command":"ls"}}'],
    ["invalid JSON", '{"name":"shell_exec","input":{"command":'],
    ["itself as the name and nothing else", '{"name":"use_tool","input":{}}'],
    ["an empty text", ""],
  ])("with %s never runs, and says how to call it", async (_what, json) => {
    expect(problemOf(await parse(call("use_tool", json)))).toContain('use_tool needs {"name"');
  });

  test.each(["nothing", "__proto__", "evil.shell_exec", "shell_exec_2"])(
    "of %j, which is no tool, never runs",
    async (name) => {
      expect(problemOf(await parse(wrap(name, { command: "ls" })))).toContain("there is no tool");
    },
  );

  test("has the tool's own arguments only, whatever is in them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.jsonValue(), async (command, noise) => {
        const input = { command, name: noise };
        const direct = await parse(call("shell_exec", JSON.stringify(input)));
        expect(await parse(wrap("shell_exec", input))).toEqual(direct);
      }),
      { numRuns: 50 },
    );
  });
});
