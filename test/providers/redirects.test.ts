/** Where a service sends requests on to: no other address gets the key and the prompt. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEmbedder } from "../../src/providers/embeddings.ts";
import { describeOllamaModel, probeOllama } from "../../src/providers/ollama-models.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { httpServer } from "../sandbox/egress/servers.ts";
import { apis, asking, collect, failureIn, scripted } from "./apis.ts";

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

  test("not even its own host is asked at another path, port or scheme after a redirect", async () => {
    const { url } = double(here);
    for (const location of ["/v1/messages", "?again", url, url.replace("http:", "https:"), `//${new URL(url).host}/`]) {
      redirectNext(307, location);
      const before = double(here).requests.length;
      expect(failureIn(await collect(api.create(url), asking("hello"))).code).toBe("provider.bad-url");
      expect(double(here).requests.length - before).toBe(1);
    }
  });
});

test("a list of models and a model's facts are not looked up where an address redirects to", async () => {
  const seen: string[] = [];
  const body = JSON.stringify({ models: [], capabilities: ["tools"] });
  const site = await httpServer((request, response) => {
    seen.push(request.url ?? "");
    if (request.url === "/elsewhere") response.end(body);
    else response.writeHead(307, { location: "/elsewhere" }).end();
  });
  onTestFinished(() => site.close());
  const [host, signal] = [`http://127.0.0.1:${site.port}`, AbortSignal.timeout(10_000)];
  expect(await probeOllama(host, signal)).toBeUndefined();
  expect(await describeOllamaModel(host, "m", signal)).toBeUndefined();
  expect(seen).toEqual(["/api/tags", "/api/show"]);
});

test("another host does not get the texts to embed", async () => {
  const embedder = createEmbedder({ provider: "openai", model: "m", apiKey: "k", baseUrl: `${double(here).url}/v1` });
  redirectNext(307, `${double(there).url}/v1/embeddings`);
  await expect(embedder.embed(["a"], "passage", new AbortController().signal)).rejects.toThrow(
    /memory\.embeddings\.baseUrl/,
  );
  expect(double(there).requests).toEqual([]);
});
