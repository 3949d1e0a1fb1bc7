/** A service's own words in a failure: without keys, control characters, links and formatting, over each client library. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createEmbedder } from "../../src/providers/embeddings.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { apis, asking, collect, createOpenAiChatProvider, failureIn, patient } from "./apis.ts";

let double: ModelDouble;
beforeAll(async () => {
  double = await startModelDouble();
});
afterAll(() => double.stop());

/** No vendor's shape. */
const key = "operators-own-gateway-key-0123";
const timeouts = patient;
const keyed = [
  {
    name: "anthropic",
    create: (url: string) =>
      createAnthropicProvider({ apiKey: key, baseUrl: url, model: "claude-sonnet-5-5", timeouts }),
  },
  {
    name: "openai",
    create: (url: string) =>
      createOpenAiChatProvider({ apiKey: key, baseUrl: `${url}/v1?api_key=in-the-address-42`, model: "m", timeouts }),
  },
];

describe.each(keyed)("$name", ({ create }) => {
  const refusal = async (message: string) => {
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
    return failureIn(await collect(create(double.url), asking("hello")));
  };

  test("a key that the service repeats is in no part of the failure, wherever it stands in the text", async () => {
    for (const padding of ["", "x ".repeat(136), "x ".repeat(140), "x ".repeat(147)]) {
      const error = await refusal(`${padding}the header was Bearer ${key} and ${Buffer.from(key).toString("base64")}`);
      const shown = `${error.message} ${error.detail ?? ""} ${error.plain}`;
      for (const part of [key, key.slice(0, 8), key.slice(-8), Buffer.from(key).toString("base64").slice(0, 12)])
        expect(shown).not.toContain(part);
    }
  });

  test("half of a key is hidden as well", async () => {
    const { message } = await refusal(`the key ${key.slice(0, 20)} is not like ${key.slice(-14)}`);
    expect(message).not.toMatch(/operators-own|gateway|0123/);
  });
});

describe.each(apis)("$name", (api) => {
  test("control characters and directions are removed, and links, mentions and formatting stay code", async () => {
    const message =
      "\u001b[31mRed\u001b[0m \u202eevil\u202c\u200b [click](https://evil.example) <!here> **b** `x`\r\nnext";
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
    const error = failureIn(await collect(api.create(double.url), asking("hello")));
    expect(error.message).toContain("(400 `` Red evil [click](https://evil.example) <!here> **b** `x` next ``)");
    expect(error.plain).not.toMatch(/evil|Red/);
  });
});

test("a key that a service of embeddings repeats is hidden", async () => {
  const embedder = createEmbedder({
    provider: "openai",
    model: "text-embedding-3-small",
    apiKey: key,
    baseUrl: `${double.url}/v1`,
  });
  double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message: `Bearer ${key}` } }) });
  await expect(embedder.embed(["a"], "passage", new AbortController().signal)).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringContaining(key) }),
  );
});

test("an address is shown without its query, which can hold a key", async () => {
  const [, openai] = keyed;
  const provider = openai?.create(double.url) ?? expect.fail();
  double.failNext({ type: "answer", status: 404, body: JSON.stringify({ error: { message: "in-the-address-42" } }) });
  expect(failureIn(await collect(provider, asking("hello"))).message).not.toContain("in-the-address");
});
