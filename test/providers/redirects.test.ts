/** Where a service sends requests on to: another host gets neither the key nor the prompt. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEmbedder } from "../../src/providers/embeddings.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { apis, asking, collect, failureIn, scripted, text, textIn } from "./apis.ts";

let [here, there]: ModelDouble[] = [];
const double = (which: ModelDouble | undefined) => which ?? expect.fail("not started");
beforeAll(async () => {
  [here, there] = await Promise.all([startModelDouble(), startModelDouble()]);
  for (const each of [here, there]) scripted(each);
});
afterAll(() => Promise.all([here, there].map((each) => each?.stop())));

const redirectNext = (status: number, location: string) =>
  double(here).failNext({ type: "answer", status, headers: { location } });

describe.each(apis)("$name", (api) => {
  test.each([301, 302, 303, 307, 308])(
    "another host is not asked after a %i, and people read which setting to correct",
    async (status) => {
      redirectNext(status, `${double(there).url}/v1/elsewhere?key=abc`);
      const error = failureIn(await collect(api.create(double(here).url), asking("hello")));
      expect(double(there).requests).toEqual([]);
      expect(error.code).toBe("provider.bad-url");
      expect(error.message).toMatch(
        /sends requests on to another address \(30\d `http:\S+\/v1\/elsewhere(?:\?…)?`\).*; correct \w+_(?:BASE_URL|HOST)/,
      );
    },
  );

  test("a redirect on the same host that keeps the request is followed, though not in a circle", async () => {
    const path = {
      anthropic: "/v1/messages",
      "openai chat": "/v1/chat/completions",
      "openai responses": "/v1/responses",
    };
    const location = path[api.name as keyof typeof path] ?? "/api/chat";
    redirectNext(308, location);
    expect(textIn(await collect(api.create(double(here).url), asking("hello")))).toBe(text);
    for (let count = 0; count < 6; count++) redirectNext(307, location);
    expect(failureIn(await collect(api.create(double(here).url), asking("hello"))).code).toBe("provider.bad-url");
  });
});

test("another host does not get the texts to embed", async () => {
  const embedder = createEmbedder({ provider: "openai", model: "m", apiKey: "k", baseUrl: `${double(here).url}/v1` });
  redirectNext(307, `${double(there).url}/v1/embeddings`);
  await expect(embedder.embed(["a"], "passage", new AbortController().signal)).rejects.toThrow(
    /memory\.embeddings\.baseUrl/,
  );
  expect(double(there).requests).toEqual([]);
});
