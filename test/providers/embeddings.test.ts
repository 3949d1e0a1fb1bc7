/** Both client libraries against a double of the services. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEmbedder, type EmbedderOptions } from "../../src/providers/embeddings.ts";
import {
  type EmbeddingServer,
  embeddingKey,
  embeddingModel,
  startEmbeddingServer,
} from "../doubles/embedding-server.ts";
import { freePort } from "../doubles/free-port.ts";

let server: EmbeddingServer;
beforeEach(async () => {
  server = await startEmbeddingServer();
});
afterEach(() => server.close());

const never = new AbortController().signal;

describe.each(["openai", "ollama"] as const)("%s", (provider) => {
  const create = (changes: Partial<EmbedderOptions> = {}) => {
    const baseUrl = provider === "openai" ? `${server.url}/v1` : server.url;
    return createEmbedder({ provider, baseUrl, apiKey: embeddingKey, model: embeddingModel, ...changes });
  };
  const cosineOf = (one?: Float32Array, other?: Float32Array) =>
    (one ?? new Float32Array()).reduce((sum, value, index) => sum + value * (other?.[index] ?? 0), 0);

  test("gives a vector for each text, in order, of the wanted length", async () => {
    const embedder = create({ dimensions: 64 });
    const [dog, ship, puppy] = await embedder.embed(["dog", "ship", "puppy"], "passage", never);
    expect([dog?.length, ship?.length]).toEqual([64, 64]);
    expect(cosineOf(dog, puppy)).toBeCloseTo(1, 4);
    expect(Math.abs(cosineOf(dog, ship))).toBeLessThan(0.5);
    expect(embedder.model).toBe(`${provider}/${embeddingModel}/64`);
    expect(embedder.address).toContain(server.url);
  });

  test("tells the models that need it what a text is for", async () => {
    await create({ model: `${embeddingModel}-nomic-embed-text` }).embed(["a"], "passage", never);
    await create({ model: `${embeddingModel}-nomic-embed-text` }).embed(["a"], "question", never);
    await create().embed(["half a pair: \ud83d"], "question", never);
    expect(server.texts()).toEqual(["search_document: a", "search_query: a", "half a pair: \ufffd"]);
  });

  test.each([
    [
      "a refused key",
      { type: "answer", status: 401, body: '{"error":{"message":"sk-1 is wrong"}}' },
      "provider.wrong-key",
      "set a valid one in memory.embeddings.apiKey",
    ],
    [
      "a limit",
      { type: "answer", status: 429, headers: { "retry-after": "7" } },
      "provider.rate-limited",
      "too many requests",
    ],
    ["an overload", { type: "answer", status: 503 }, "provider.overloaded", "overloaded"],
    [
      "a web page",
      { type: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<html>" },
      "provider.not-an-api",
      "memory.embeddings.baseUrl",
    ],
    ["broken JSON", { type: "answer", status: 200, body: '{"data": [NaN' }, "provider.malformed", "not a valid"],
    [
      "other JSON",
      { type: "answer", status: 200, body: '{"ok": true}' },
      "embeddings.bad-vectors",
      "no vectors for 2 texts",
    ],
    [
      "too few vectors",
      { type: "vectors", change: (all: number[][]) => all.slice(1) },
      "embeddings.bad-vectors",
      "1 vectors for 2 texts",
    ],
    [
      "vectors of different lengths",
      { type: "vectors", change: ([one = []]: number[][]) => [one, one.slice(1)] },
      "embeddings.bad-vectors",
      "255 numbers instead of 256",
    ],
    [
      "something that is no number",
      { type: "vectors", change: (all: number[][]) => all.map((one) => [null, ...one.slice(1)]) },
      "embeddings.bad-vectors",
      "does not consist of numbers",
    ],
    [
      "no list of numbers",
      { type: "vectors", change: (all: number[][]) => all.map(() => "text") },
      "embeddings.bad-vectors",
      "something else than a vector",
    ],
    [
      "a huge vector",
      { type: "vectors", change: (all: number[][]) => all.map(() => Array(20_000).fill(0.1)) },
      "embeddings.bad-vectors",
      "more than 16384",
    ],
    [
      "zeros",
      { type: "vectors", change: (all: number[][]) => all.map((one) => one.map(() => 0)) },
      "embeddings.bad-vectors",
      "a vector of zeros",
    ],
  ] as const)("reports %s", async (_name, fault, code, said) => {
    server.failNext(fault);
    const failed = await create()
      .embed(["a", "b"], "passage", never)
      .catch((thrown: Error) => thrown);
    expect(failed).toMatchObject({ code, message: expect.stringContaining(said) });
    expect(String(failed)).not.toContain("sk-");
    if (code === "provider.rate-limited") expect(failed).toMatchObject({ retryAfterMs: 7_000, isRetryable: true });
  });

  test("reports an unknown model, vectors of another length than set, and a server that is not there", async () => {
    const code = (embedder: ReturnType<typeof create>) =>
      embedder.embed(["a"], "passage", never).then(
        () => "none",
        (thrown: { code: string }) => thrown.code,
      );
    expect(await code(create({ model: "other" }))).toBe("provider.unknown-model");
    server.failNext({ type: "vectors", change: (all) => all.map((one) => one.slice(1)) });
    expect(await code(create({ dimensions: 128 }))).toBe("embeddings.bad-vectors");
    expect(await code(create({ baseUrl: `http://127.0.0.1:${await freePort()}` }))).toBe("provider.unreachable");
  });

  test("ends a request that hangs with the signal's reason", async () => {
    server.failNext({ type: "silence" });
    const ended = new AbortController();
    const wanted = create().embed(["a"], "passage", ended.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    ended.abort(new Error("no longer wanted"));
    await expect(wanted).rejects.toThrow("no longer wanted");
  });
});

test("a password in the address is not shown", () => {
  const baseUrl = "http://user:secret@localhost:1/v1";
  expect(createEmbedder({ provider: "openai", model: "m", baseUrl }).address).not.toContain("secret");
});
