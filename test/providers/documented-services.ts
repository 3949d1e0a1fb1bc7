/** The services of docs/models.md: their settings as the page shows them, and a double that stands where they lead to. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, vi } from "vitest";
import { providerSettings } from "../../src/config/derive.ts";
import type { Environment } from "../../src/config/environment.ts";
import { formatProblems, loadSettings } from "../../src/config/load.ts";
import type { Settings } from "../../src/config/settings.ts";
import type { ModelEvent, ModelMessage, ModelRequest, Provider } from "../../src/ports/provider.ts";
import { advisedModel } from "../../src/providers/ollama-models.ts";
import { createProviders } from "../../src/providers/select.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import type { Refusal } from "../doubles/model-rules/rule.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { asking, callsIn, collect, failureIn, textIn } from "./apis.ts";

const root = resolve(import.meta.dirname, "../..");
export const page = readFileSync(join(root, "docs/models.md"), "utf8");

/** A block of settings of the page. */
export interface Documented {
  /** As the page's heading and its table name it. */
  service: string;
  /** The which-th block of settings of its section. */
  block?: number;
}

/** The settings of a service's section. */
export function blocksOf(service: string): string[] {
  const section = page.split(/^### /m).find((text) => text.startsWith(`${service}\n`)) ?? "";
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, text]) => text ?? []);
}

const realFetch = globalThis.fetch;

/** The caller stops it, and gives `fetch` back. */
export async function startAt(service: ModelService): Promise<ModelDouble> {
  const double = await startModelDouble({
    service,
    installed: [
      { name: advisedModel, capabilities: ["completion", "tools", "thinking", "vision"], contextLength: 40_960 },
    ],
  });
  // The double stands where the settings lead to. It asks its own upstream by the same function.
  vi.stubGlobal("fetch", (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const isUpstream = url.origin === new URL(double.mock.url).origin;
    return realFetch(isUpstream ? input : `${double.url}${url.pathname}${url.search}`, init);
  });
  return double;
}

export function settingsWith(env: Environment): Settings {
  const home = mkdtempSync(join(tmpdir(), "remora-services-"));
  try {
    // A file of a secret that the page names is one of this machine's.
    const file = join(home, "token");
    writeFileSync(file, "your-token");
    const named = Object.entries(env).map(([name, value]) => [name, name.endsWith("_FILE") ? file : value]);
    const folders = { REMORA_WORKSPACE: join(home, "w"), REMORA_DATA: join(home, "d"), REMORA_ENV_FILE: "/dev/null" };
    const loaded = loadSettings({ ...Object.fromEntries(named), ...folders }, root);
    if (loaded.type === "invalid") throw new Error(formatProblems(loaded.problems));
    return loaded.settings;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The model that the page's settings lead to. */
export async function providerOf(
  { service, block = 0 }: Documented,
  change = (text: string) => text,
): Promise<Provider> {
  const text = change(blocksOf(service)[block] ?? expect.fail(`docs/models.md has no settings for ${service}`));
  const lines = text.trim().split("\n");
  const settings = settingsWith(Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))));
  const { providers, statuses } = await createProviders(providerSettings(settings), AbortSignal.timeout(60_000));
  const provider = providers[0] ?? expect.fail();
  expect(statuses.find(({ name }) => name === provider.name)).toMatchObject({ isReady: true });
  return provider;
}

/** A greeting, and a question that takes two steps with a tool. */
export function script(double: ModelDouble, path: string): void {
  // The other protocols have it as the doubles of their services say.
  const hasThoughts = /messages$|responses$/.test(path);
  const steps = ["Berlin", "Rome"];
  for (const [step, place] of steps.entries())
    double.mock.on(
      {
        userMessage: "weather",
        predicate: ({ messages }) => messages.filter(({ role }) => role === "tool").length === step,
      },
      {
        content: "I look.",
        toolCalls: [{ name: "look_up", arguments: JSON.stringify({ place }), id: `call_${"ab"[step]}` }],
        ...(hasThoughts ? { reasoning: `Let me look up ${place}.`, reasoningSignature: `c2lnbmVk${step}` } : {}),
      },
    );
  double.mock.on({ userMessage: "weather" }, { content: "It rains in both." });
  double.mock.onMessage("The picture in the result", { content: "It rains there." });
  double.mock.onMessage("hello", { content: "Hello there." });
}

/** The answer and the results of its calls, as a turn keeps them: through JSON. */
export function answered(events: ModelEvent[]): ModelMessage[] {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error(`no end: ${JSON.stringify(end)}`);
  const toolCalls = callsIn(events).map(({ id, name, inputJson }) => ({ id, name, inputJson }));
  const carry = end.carry === undefined ? {} : { carry: { model: end.model, data: end.carry } };
  const results = toolCalls.map(({ id, name }) => ({
    ...{ role: "tool" as const, callId: id, name, text: "Rain.", isError: false },
  }));
  return JSON.parse(JSON.stringify([{ role: "assistant", text: textIn(events), toolCalls, ...carry }, ...results]));
}

/** Asks until the model calls nothing more. */
export async function turn(
  provider: Provider,
  said: string,
): Promise<{ text: string; steps: number; last: ModelRequest }> {
  let last = asking(said, { maxOutputTokens: 16_000 });
  for (let steps = 0; steps < 4; steps += 1) {
    const events = await collect(provider, last);
    if (events.at(-1)?.type === "error") throw failureIn(events);
    if (callsIn(events).length === 0) return { text: textIn(events), steps, last };
    last = { ...last, messages: [...last.messages, ...answered(events)] };
  }
  throw new Error("the model calls tools without end");
}

/** For the double's next answer. */
export const answerOf = ({ status, headers, body }: Refusal) => ({
  ...{ type: "answer" as const, status, body: JSON.stringify(body) },
  ...(headers === undefined ? {} : { headers }),
});
