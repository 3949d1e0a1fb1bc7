/** Memory with embeddings, with the real client libraries against a double of the service. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MemoryOptions, OwnedMemory } from "../../src/memory/memory.ts";
import type { EmbeddingOptions } from "../../src/memory/search.ts";
import type { MemoryScope } from "../../src/ports/message.ts";
import { createEmbedder, type EmbedderOptions } from "../../src/providers/embeddings.ts";
import {
  type EmbeddingServer,
  embeddingKey,
  embeddingModel,
  startEmbeddingServer,
} from "../doubles/embedding-server.ts";
import { ann, createMemoryFixture, episode, type MemoryFixture } from "./fixture.ts";

let server: EmbeddingServer;
let fixture: MemoryFixture;
beforeEach(async () => {
  server = await startEmbeddingServer();
});
afterEach(async () => {
  await fixture.remove();
  await server.close();
});

const scope = "channel:general";
const knowledge = `brain/hippocampus/knowledge/${scope}`;
const notes = (...texts: string[]) => texts.map((text, index) => `# n${index}\n\n${text}\n`).join("\n");

/** Short enough for tests; the order of things stays the same. */
const times = { betweenBatchesMs: 0, firstRetryMs: 20, busyMs: 20 };

function embeddings(changes: Partial<EmbedderOptions & EmbeddingOptions> = {}): { embeddings: EmbeddingOptions } {
  const { maxWaitMs = 10_000, file = join(fixture.workspace, "../data/memory-vectors.db"), ...provider } = changes;
  const address = { provider: "openai", baseUrl: `${server.url}/v1`, apiKey: embeddingKey } as const;
  const embedder = createEmbedder({ ...address, model: embeddingModel, ...provider });
  return { embeddings: { embedder, file, maxWaitMs, times } };
}

/** Opens memory with embeddings on the files that `write` made. */
async function open(write: () => void = () => {}, changes: Partial<EmbedderOptions & EmbeddingOptions> = {}) {
  fixture = createMemoryFixture();
  write();
  return await start(changes);
}

async function start(changes: Partial<EmbedderOptions & EmbeddingOptions> = {}, more: Partial<MemoryOptions> = {}) {
  const memory = fixture.reopen({ ...embeddings(changes), ...more });
  await memory.warmUp();
  return memory;
}

async function settled(memory: OwnedMemory, count?: number): Promise<void> {
  await expect
    .poll(async () => {
      const { passages = 0, embedded = 0 } = (await memory.embeddings()) ?? {};
      return embedded === passages && (count === undefined || count === embedded);
    })
    .toBe(true);
}

async function headings(memory: OwnedMemory, query: string, scopes: MemoryScope[] = [scope]): Promise<string[]> {
  return (await memory.search({ query, scopes, limit: 5 })).map(({ heading }) => heading);
}

const storedKeys = () => {
  const database = new DatabaseSync(join(fixture.workspace, "../data/memory-vectors.db"), { readOnly: true });
  const keys = database.prepare("SELECT key FROM signs").all();
  const codes = database.prepare("SELECT key FROM codes").all();
  database.close();
  expect(codes).toHaveLength(keys.length);
  return keys.length;
};

describe("a question in other words", () => {
  test.each(["openai", "ollama"] as const)(
    "finds its passage with %s, and without embeddings does not",
    async (provider) => {
      const text = notes("Ann is allergic to peanuts.", "The yacht needs paint.", "Invoices go out on Fridays.");
      const baseUrl = provider === "openai" ? `${server.url}/v1` : server.url;
      const memory = await open(() => fixture.write(`${knowledge}/a.md`, text), { provider, baseUrl });
      await settled(memory, 3);
      expect((await headings(memory, "Who gets sick from nuts?"))[0]).toBe("n0");
      expect((await headings(memory, "vessel"))[0]).toBe("n1");
      expect(await headings(fixture.memory, "Who gets sick from nuts?")).toEqual([]);
    },
  );

  test("does not displace a passage with the question's own words", async () => {
    const memory = await open(() =>
      fixture.write(`${knowledge}/a.md`, notes("The boat is blue.", "The vessel is green, my yacht too.")),
    );
    await settled(memory, 2);
    expect(await headings(memory, "boat")).toEqual(["n0", "n1"]);
  });

  test("finds a turn as soon as it is embedded", async () => {
    const memory = await open();
    await memory.saveEpisode(episode({ userText: "My puppy is called Bo." }));
    await settled(memory, 1);
    expect(await headings(memory, "What is the hound named?")).toEqual(["12:00 — My puppy is called Bo."]);
  });
});

describe("a text is embedded once", () => {
  test("in whichever passages it occurs, and however often it is indexed again", async () => {
    const memory = await open(() => {
      fixture.write(`${knowledge}/a.md`, notes("The anchor is blue."));
      fixture.write("brain/hippocampus/knowledge/dm:ann/b.md", notes("The anchor is blue."));
    });
    await settled(memory, 2);
    fixture.write(`${knowledge}/renamed.md`, fixture.read(`${knowledge}/a.md`));
    rmSync(join(fixture.workspace, knowledge, "a.md"));
    await settled(memory, 2);
    await memory.close();
    rmSync(fixture.indexFile);
    await settled(await start(), 2);
    expect(server.texts()).toEqual(["n0\nThe anchor is blue."]);
  });

  test("by two processes on one data folder, with an index each", async () => {
    const text = notes(...Array.from({ length: 90 }, (_, index) => `Fact number ${index}.`));
    const one = await open(() => fixture.write(`${knowledge}/a.md`, text));
    const other = await start({}, { indexFile: join(fixture.workspace, "../data/process-1/memory.db") });
    await Promise.all([settled(one, 90), settled(other, 90)]);
    expect(server.texts().toSorted()).toEqual([...new Set(server.texts())].toSorted());
    expect(server.texts()).toHaveLength(90);
    expect((await headings(other, "fact number 17"))[0]).toBe("n17");
  });

  test("again only if the model is another, and then the earlier vectors go", async () => {
    const memory = await open(() => fixture.write(`${knowledge}/a.md`, notes("My dog is old.", "Two.")));
    await settled(memory, 2);
    await memory.close();
    const again = await start({ model: `${embeddingModel}-2`, dimensions: 64 });
    await settled(again, 2);
    expect(server.texts()).toHaveLength(4);
    expect(await headings(again, "hound")).toContain("n0");
    await expect.poll(storedKeys).toBe(2);
  });

  test("and after the file of vectors was deleted or damaged, again", async () => {
    const memory = await open(() => fixture.write(`${knowledge}/a.md`, notes("My dog is old.")));
    await settled(memory, 1);
    await memory.close();
    const file = join(fixture.workspace, "../data/memory-vectors.db");
    for (const harm of [() => rmSync(file), () => writeFileSync(file, "no database ".repeat(1000))]) {
      harm();
      for (const ending of ["-wal", "-shm"]) rmSync(file + ending, { force: true });
      const again = await start();
      await settled(again, 1);
      expect(await headings(again, "hound")).toEqual(["n0"]);
      await again.close();
    }
  });
});

describe("what is removed", () => {
  test("by forgetting loses its vectors, in the file too", async () => {
    const memory = await open(() => fixture.write(`${knowledge}/a.md`, notes("The yacht is new.")));
    await memory.saveEpisode(episode({ scope: "dm:U1", userText: "My dog is old.", users: [ann] }));
    await settled(memory, 2);
    await memory.forget({ scope: "dm:U1" });
    expect(storedKeys()).toBe(1);
    expect(await headings(memory, "hound", ["dm:U1"])).toEqual([]);
  });

  test("by editing a file, by the retention period, and while nobody ran, loses them too", async () => {
    fixture = createMemoryFixture();
    fixture.write(`${knowledge}/a.md`, notes("My dog is old.", "The yacht is new."));
    fixture.write(`brain/hippocampus/episodes/${scope}/2020-01-01.md`, "## 10:00 — old\n\nA very old entry.\n");
    const memory = await start({}, { retentionDays: 30 });
    await settled(memory, 3);
    fixture.write(`${knowledge}/a.md`, notes("My dog is old."));
    await settled(memory, 2);
    expect(storedKeys()).toBe(2);
    await memory.consolidate();
    expect(storedKeys()).toBe(1);
    await memory.close();
    rmSync(join(fixture.workspace, knowledge, "a.md"));
    await start();
    expect(storedKeys()).toBe(0);
  });

  test("while its text is at the service gets no vector", async () => {
    const memory = await open();
    fixture.write(`${knowledge}/a.md`, notes("My dog is old."));
    server.failWhen((input) => {
      if (input.join().includes("dog")) rmSync(join(fixture.workspace, knowledge, "a.md"), { force: true });
      return undefined;
    });
    await memory.warmUp();
    await expect.poll(() => server.texts()).toHaveLength(1);
    await memory.search({ query: "anything", scopes: [scope], limit: 5 });
    expect(storedKeys()).toBe(0);
  });
});

test("vectors never bring a passage of another scope, whatever is asked", async () => {
  const scopes: MemoryScope[] = ["channel:a", "channel:b", "dm:ann", "shared"];
  const memory = await open(() => {
    for (const one of scopes)
      fixture.write(`brain/hippocampus/knowledge/${one}/a.md`, notes("My dog is old.", `The yacht of ${one} is new.`));
  });
  await settled(memory, 8);
  const words = fc.constantFrom("hound", "vessel", "canine", "old", "what", "yacht of dm:ann", "channel:b");
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.constantFrom(...scopes)),
      fc.array(words, { minLength: 1 }),
      async (asked, said) => {
        const hits = await memory.search({ query: said.join(" "), scopes: asked, limit: 20 });
        expect(hits.filter((hit) => !asked.includes(hit.scope) || !hit.path.includes(hit.scope))).toEqual([]);
        if (asked.length > 0) expect(hits.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 60 },
  );
});

describe("a service that fails", () => {
  const two = () => fixture.write(`${knowledge}/a.md`, notes("My dog is old.", "The yacht is new."));
  const problem = async (memory: OwnedMemory) => (await memory.embeddings())?.problem ?? "";

  test.each([
    [
      "refuses the key",
      { type: "answer", status: 401, body: '{"error":{"message":"bad key sk-123"}}' },
      "the key was refused; set a valid one in memory.embeddings.apiKey",
    ],
    ["is asked too often", { type: "answer", status: 429, headers: { "retry-after-ms": "10" } }, "too many requests"],
    ["gives zeros", { type: "vectors", change: (all: number[][]) => all.map(() => [0, 0]) }, "a vector of zeros"],
  ] as const)(
    "%s: search goes by words, the reason is kept and logged once, and it is tried again",
    async (_name, fault, said) => {
      server.failWhen(() => fault);
      const memory = await open(two);
      await expect.poll(() => problem(memory)).toContain(said);
      await expect.poll(() => server.requests.length).toBeGreaterThan(2);
      expect(await headings(memory, "yacht")).toEqual(["n1", "n0"]);
      for (const what of ["passages", "questions"])
        expect(fixture.warnings.filter((warning) => warning.includes(`could not embed ${what}`))).toHaveLength(1);
      expect(fixture.warnings.join()).not.toMatch(/sk-/);
      server.failWhen(undefined);
      await settled(memory, 2);
    },
  );

  test("and hangs delays a search by no more than the limit, and not the next one", async () => {
    const memory = await open(two, { maxWaitMs: 300 });
    await settled(memory, 2);
    server.failWhen(() => ({ type: "silence" }));
    const before = server.requests.length;
    expect(await headings(memory, "yacht")).toEqual(["n1", "n0"]);
    expect(await headings(memory, "my dog")).toContain("n0");
    // The second question was not sent: the service rests.
    expect(server.requests).toHaveLength(before + 1);
  });

  test("because one text is refused embeds all others", async () => {
    const refused = (input: string[]) =>
      input.some((one) => one.includes("yacht"))
        ? ({ type: "answer", status: 400, body: '{"error":{"message":"no yachts"}}' } as const)
        : undefined;
    server.failWhen(refused);
    const memory = await open(two);
    await expect.poll(async () => (await memory.embeddings())?.embedded).toBe(1);
    expect(await headings(memory, "hound")).toEqual(["n0"]);
  });

  test("because the model's name stands for another model now says so", async () => {
    const memory = await open(two);
    await settled(memory, 2);
    server.failWhen(() => ({ type: "vectors", change: (all) => all.map((one) => one.slice(0, 100)) }));
    fixture.write(`${knowledge}/b.md`, "Another note.");
    await memory.warmUp();
    await expect
      .poll(() => problem(memory))
      .toContain("its vectors have 100 numbers, and those stored before have 256");
    expect(await headings(memory, "yacht")).toContain("n1");
  });
});

test("vectors that are damaged while they are in use cost no search, and are made again", async () => {
  const memory = await open(() => fixture.write(`${knowledge}/a.md`, notes("My dog is old.")));
  await settled(memory, 1);
  const other = new DatabaseSync(join(fixture.workspace, "../data/memory-vectors.db"), { timeout: 5_000 });
  other.exec("DROP TABLE codes");
  other.close();
  expect(await headings(memory, "dog")).toEqual(["n0"]);
  expect(fixture.warnings.join()).toContain("the file of vectors was damaged");
  fixture.write(`${knowledge}/b.md`, "Another note.");
  await memory.search({ query: "note", scopes: [scope], limit: 1 });
  await settled(memory, 2);
  expect(await headings(memory, "hound")).toContain("n0");
});

test("nothing is sent while memory is closed, and a closed memory leaves others to continue", async () => {
  server.failWhen(() => ({ type: "silence" }));
  const memory = await open(() => fixture.write(`${knowledge}/a.md`, notes("My dog is old.")));
  await expect.poll(() => server.requests.length).toBe(1);
  await memory.close();
  server.failWhen(undefined);
  await settled(await start(), 1);
});

test("vectors contain no text, and without embeddings there is no file", async () => {
  const memory = await open(() => fixture.write(`${knowledge}/a.md`, notes("My canaryword is old.")));
  await settled(memory, 1);
  await memory.close();
  expect(readFileSync(join(fixture.workspace, "../data/memory-vectors.db"), "latin1")).not.toContain("canaryword");
  rmSync(join(fixture.workspace, "../data"), { recursive: true });
  expect(await headings(fixture.memory, "canaryword")).toEqual(["n0"]);
  expect(await fixture.memory.embeddings()).toBeUndefined();
  expect(fixture.list("../data").join()).not.toContain("vectors");
});
