/** A double that behaves as one of the services that speak OpenAI's protocols, with providers that reach it. */
import { vi } from "vitest";
import type { ModelEvent, ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createOpenAiProvider } from "../../src/providers/openai.ts";
import type { OpenAiOptions } from "../../src/providers/openai-client.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { answered, asking, collect, patient, scripted } from "./apis.ts";

export const openAi = "https://api.openai.com/v1";

export interface OpenAiWorld {
  double: ModelDouble;
  /** The provider at the double's address. */
  here(model: string, more?: Partial<OpenAiOptions>): Provider;
  /** The provider at a service's own address, which leads to the double. */
  at(baseUrl: string, model: string, more?: Partial<OpenAiOptions>): Provider;
  paths(): string[];
  lastBody(): Record<string, unknown>;
  /** The next request gets these chunks of Chat Completions. */
  answerNext(...chunks: unknown[]): void;
  stop(): Promise<void>;
}

export async function createOpenAiWorld(service: ModelService): Promise<OpenAiWorld> {
  const double = await startModelDouble({ service });
  double.mock.on({ hasToolResult: true }, { content: "It rains." });
  scripted(double);
  const { fetch } = globalThis;
  const own = new Set<string>();
  const redirect: typeof fetch = (input, init) => {
    const address = [...own].find((each) => String(input).startsWith(each));
    if (address === undefined) return fetch(input, init);
    // A server of any kind answers at one path, a service at its own.
    const path = service === "any" ? "/v1" : new URL(address).pathname;
    return fetch(String(input).replace(address, `${double.url}${path}`), init);
  };
  const create = (baseUrl: string, model: string, more: Partial<OpenAiOptions> = {}) =>
    createOpenAiProvider({ apiKey: "k", baseUrl, model, timeouts: patient, ...more });
  return {
    double,
    here: (model, more) => create(`${double.url}/v1`, model, more),
    at(baseUrl, model, more) {
      own.add(baseUrl);
      vi.stubGlobal("fetch", redirect);
      return create(baseUrl, model, more);
    },
    paths: () => double.requests.map(({ path }) => path),
    lastBody: () => double.requests.at(-1)?.body ?? {},
    answerNext(...chunks) {
      const body = [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"].join("");
      double.failNext({ type: "answer", status: 200, headers: { "content-type": "text/event-stream" }, body });
    },
    async stop() {
      vi.unstubAllGlobals();
      await double.stop();
    },
  };
}

/** Two steps: the model calls a tool, and gets the result. */
export async function turn(provider: Provider, more: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  const request = asking("one call", more);
  const first = await collect(provider, request);
  return await collect(provider, { ...request, messages: [...request.messages, ...answered(first)] });
}

export const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
