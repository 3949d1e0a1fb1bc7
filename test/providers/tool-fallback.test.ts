import { describe, expect, test } from "vitest";
import type { ModelEvent, ModelRequest } from "../../src/ports/provider.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import { failure, ServiceRefusal } from "../../src/providers/classify-failure.ts";
import type { ProviderPlace } from "../../src/providers/failure-kinds.ts";
import { createToolFallback } from "../../src/providers/tool-fallback.ts";
import { asking, callsIn, failureIn, lookUp } from "./apis.ts";

const settings = { keySetting: "K", urlSetting: "U", modelSetting: "M" };
const place: ProviderPlace = { name: "openai", model: "m", baseUrl: "http://127.0.0.1:1/v1", ...settings };
const hello: ModelEvent[] = [
  { type: "text-delta", text: "Hello" },
  {
    ...{ type: "end", stop: "end", model: "openai/m" },
    usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
];

const named = (name: string, more: Partial<ToolSpec> = {}): ToolSpec => ({ ...lookUp, name, ...more });
const refusal = (message: string): ModelEvent => ({
  type: "error",
  error: failure(place, "toolRefused", { cause: new ServiceRefusal(400, { message, type: "", code: "" }) }),
});

/** A service that refuses while `isBad`, and what it was sent. */
function service(refused: (request: ModelRequest) => string | undefined, answer = hello) {
  const requests: ModelRequest[] = [];
  const fallback = createToolFallback();
  return {
    requests,
    advice: () => fallback.advice("openai").map(({ what }) => what),
    async ask(tools: ToolSpec[], tries = { left: 12 }): Promise<ModelEvent[]> {
      const events: ModelEvent[] = [];
      requests.length = 0;
      const stream = fallback.stream(place, asking("hello", { tools, tries }), async function* (request) {
        requests.push(request);
        tries.left -= 1;
        const message = refused(request);
        yield* message === undefined ? answer : [refusal(message)];
      });
      for await (const event of stream) events.push(event);
      return events;
    },
  };
}

const namesIn = ({ tools }: ModelRequest) => tools.map(({ name }) => name);
const systemOf = ({ system }: ModelRequest) => system.map(({ text }) => text).join("\n");

describe("a tool that a service refuses", () => {
  test.each([
    ["by its name", "Invalid schema for function 'odd': In context=(), something new."],
    ["by its place", "tools.1.custom.input_schema: something new"],
    ["by its place among Google's", "GenerateContentRequest.tools[0].function_declarations[1].parameters: new"],
  ])("%s is left out, the model and owners are told, and the next request has no refusal", async (_how, message) => {
    const one = service((request) => (namesIn(request).includes("odd") ? message : undefined));
    const tools = [named("look_up"), named("odd"), named("third")];
    expect((await one.ask(tools)).at(-1)?.type).toBe("end");
    expect(one.requests.map(namesIn)).toEqual([
      ["look_up", "odd", "third"],
      ["look_up", "third"],
    ]);
    expect(systemOf(one.requests[1] as ModelRequest)).toMatch(/These tools can't be used now.*: odd\. Say so/);
    expect(one.advice()).toEqual(["openai/m refuses the definition of the tool odd, so it is left out"]);
    await one.ask(tools);
    expect(one.requests.map(namesIn)).toEqual([["look_up", "third"]]);
  });

  test("is offered again once its definition has changed", async () => {
    const one = service((request) => (namesIn(request).includes("odd") ? "tools[1]: odd" : undefined));
    await one.ask([named("look_up"), named("odd")]);
    await one.ask([named("look_up"), named("odd", { description: "Better." })]);
    expect(namesIn(one.requests[0] as ModelRequest)).toEqual(["look_up", "odd"]);
  });

  test("without a name gets all tools in a short form, if that is enough", async () => {
    const rich = { type: "object", properties: { a: { type: "string", format: "uri", description: "An address" } } };
    const one = service((request) => (JSON.stringify(request.tools).includes("uri") ? "Invalid schema" : undefined));
    await one.ask([named("odd", { parameters: rich })]);
    expect(one.requests).toHaveLength(2);
    expect(one.requests[1]?.tools[0]?.parameters).toEqual({
      ...{ type: "object", properties: { a: { type: "string", description: "An address" } } },
    });
    await one.ask([named("odd", { parameters: rich })]);
    expect(one.requests).toHaveLength(1);
  });

  test.each([1, 7, 32, 63])(
    "without a name is found among 64 in a few requests of each step: number %i",
    async (at) => {
      const tools = Array.from({ length: 64 }, (_, index) => named(`tool_${index}`, { isInstalled: index > 0 }));
      const one = service((request) => (namesIn(request).includes(`tool_${at}`) ? "Invalid schema" : undefined));
      for (let step = 0; step < 8; step += 1) {
        expect((await one.ask(tools)).at(-1)?.type).toBe("end");
        expect(one.requests.length).toBeLessThanOrEqual(4);
      }
      await one.ask(tools);
      expect(one.requests.map((request) => 64 - request.tools.length)).toEqual([1]);
      expect(one.advice()).toEqual([`openai/m refuses the definition of the tool tool_${at}, so it is left out`]);
    },
  );

  test("is not looked for when the request is refused without any tools, too", async () => {
    const one = service(() => "Invalid schema for something");
    const events = await one.ask([named("a"), named("b", { isInstalled: true })]);
    expect(failureIn(events).code).toBe("provider.bad-request");
    expect(one.requests.length).toBeLessThanOrEqual(5);
    expect(one.advice()).toEqual([]);
  });

  test("is not looked for with more requests than the step has", async () => {
    const one = service(() => "Invalid schema for something");
    await one.ask([named("a"), named("b")], { left: 2 });
    expect(one.requests).toHaveLength(2);
  });

  test.each([
    "messages.3.content.0.tool_use.input: invalid schema",
    "`tool_use` ids were found without `tool_result` blocks",
    "temperature: unsupported",
    "the model does not exist",
  ])("is not meant by “%s”", async (message) => {
    const one = service(() => message);
    await one.ask([named("a")]);
    expect(one.requests).toHaveLength(1);
  });
});

test("a call comes back under the tool's own names of arguments", async () => {
  const call: ModelEvent = { type: "tool-call", id: "1", name: "odd", inputJson: '{"filter_id":"7","plain":1}' };
  const one = service(() => undefined, [call, ...hello]);
  const parameters = { type: "object", properties: { "filter[id]": { type: "string" }, plain: { type: "integer" } } };
  expect(callsIn(await one.ask([named("odd", { parameters })]))).toMatchObject([
    { inputJson: '{"filter[id]":"7","plain":1}' },
  ]);
  expect(Object.keys(Object(one.requests[0]?.tools[0]?.parameters.properties))).toEqual(["filter_id", "plain"]);
});
