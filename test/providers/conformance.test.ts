/** Every provider, and the cascade, against the port's conformance suite. */
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelMessage, Provider } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createDemoProvider } from "../../src/providers/demo.ts";
import { describeProvider, type FaultKind, type ProviderUnderTest, picture } from "../conformance/provider.ts";
import { type Fault, startModelDouble } from "../doubles/model.ts";
import { type Api, apis, asking, scripted } from "./apis.ts";

function faultsOf(api: Api): Record<FaultKind, Fault> {
  return {
    overloaded: { type: "answer", status: 503, body: '{"error":{"message":"Overloaded","type":"overloaded_error"}}' },
    "wrong-key": { type: "answer", status: 401, body: '{"error":{"message":"invalid key sk-secret"}}' },
    broken: { type: "break", before: api.secondText },
    silent: { type: "silence" },
    refused: { type: "decline", said: "Here is how you " },
  };
}

const afterChart: ModelMessage[] = [
  { role: "user", content: [{ type: "text", text: "hello" }] },
  { role: "assistant", text: "", toolCalls: [{ id: "call_a", name: "look_up", inputJson: "{}" }] },
  {
    role: "tool",
    callId: "call_a",
    name: "look_up",
    text: "Here is the chart.",
    images: [{ mimeType: "image/png", base64: picture }],
    isError: false,
  },
];

/** `tries`: how often the provider asks before it gives up on a passing failure. */
async function over(api: Api, wrap: (provider: Provider) => Provider, tries: number): Promise<ProviderUnderTest> {
  const double = await startModelDouble();
  scripted(double);
  double.mock.on({ hasToolResult: true }, { content: "I see a chart with three bars." });
  double.mock.onMessage("The picture in the result", { content: "I see a chart with three bars." });
  const faults = faultsOf(api);
  return {
    provider: wrap(api.create(double.url)),
    textRequest: asking("hello"),
    callRequest: asking("one call"),
    pictureRequest: asking("hello", { messages: afterChart }),
    received: () => JSON.stringify(double.requests.at(-1)?.body),
    blind: double.blind,
    fail: (kind) =>
      double.failNext(...Array<Fault>(kind === "overloaded" || kind === "broken" ? tries : 1).fill(faults[kind])),
    stop: double.stop,
  };
}

for (const api of apis) {
  const kind = api.name === "ollama" ? "never-refuses" : "service";
  const cascade = (provider: Provider) => createCascade({ providers: [provider], events: createEvents(), pauseMs: 1 });
  describeProvider(api.name, () => over(api, (provider) => provider, 1), kind);
  describeProvider(`a cascade of ${api.name} alone`, () => over(api, cascade, 2), kind);
}

const demo: ProviderUnderTest = {
  provider: createDemoProvider({ delayMs: 0 }),
  textRequest: asking("hello"),
  callRequest: asking('call look_up {"place":"Berlin"}'),
  pictureRequest: asking("hello"),
  received: () => "",
  blind() {},
  fail: () => {
    throw new Error("the demo model asks no service");
  },
  async stop() {},
};

describeProvider("demo", async () => demo, "stand-in");
