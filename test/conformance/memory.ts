/** The contract of every memory. `create` makes an empty one; `reopen` opens the same one after a restart. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Episode, Feedback, Memory } from "../../src/ports/memory.ts";
import type { MemoryScope, Scope } from "../../src/ports/message.ts";
import { anyCharacter } from "../doubles/any-character.ts";

export interface MemoryUnderTest {
  memory: Memory;
  reopen(): Memory;
  remove(): Promise<void>;
}

const author = { id: "U1", name: "Ann", isBot: false, roles: [] };

function anEpisode(turnId: string, scope: Scope, userText: string, response = "Noted."): Episode {
  const at = Date.UTC(2026, 10, 21, 12);
  const said = { users: [author], userText, tools: [], response, origins: [] };
  return { turnId, scope, conversationId: "c", at, ...said, outcome: "done" };
}

function aFeedback(scope: Scope, summary: string, outcome: string): Feedback {
  return { turnId: "t1", scope, at: Date.UTC(2026, 10, 21, 12), tool: "shell_exec", summary, outcome, by: author };
}

export function memoryConformance(name: string, create: () => MemoryUnderTest): void {
  describe(`memory: ${name}`, () => {
    let made: MemoryUnderTest;
    let memory: Memory;
    beforeEach(() => {
      made = create();
      memory = made.memory;
    });
    afterEach(() => made.remove());

    const texts = async (query: string, scopes: MemoryScope[]) =>
      (await memory.search({ query, scopes, limit: 20 })).map((hit) => hit.text).join("\n");

    test("a saved turn is found at once, with its place and time", async () => {
      await memory.saveEpisode(anEpisode("t1", "channel:general", "The anchor winch is stuck."));
      const [hit] = await memory.search({ query: "winch", scopes: ["channel:general"], limit: 5 });
      expect(hit).toMatchObject({ scope: "channel:general", at: "2026-11-21T12:00:00.000Z" });
      expect(hit?.text).toContain("The anchor winch is stuck.");
    });

    test("saving a turn again replaces it", async () => {
      await memory.saveEpisode(anEpisode("t1", "channel:general", "winch", "first answer"));
      await memory.saveEpisode(anEpisode("t2", "channel:general", "winch", "other turn"));
      await memory.saveEpisode(anEpisode("t1", "channel:general", "winch", "second answer"));
      const found = await texts("winch", ["channel:general"]);
      expect(found).toContain("second answer");
      expect(found).toContain("other turn");
      expect(found).not.toContain("first answer");
    });

    test("turns saved at the same time are all kept", async () => {
      const ids = Array.from({ length: 20 }, (_, index) => `t${index}`);
      await Promise.all(ids.map((id) => memory.saveEpisode(anEpisode(id, "channel:general", `winch number ${id}`))));
      const hits = await memory.search({ query: "winch", scopes: ["channel:general"], limit: 50 });
      expect(hits).toHaveLength(20);
    });

    test("messages of a DM are found only in that DM, even after a restart", async () => {
      await memory.saveEpisode(anEpisode("t1", "dm:ann", "My canaryword is 4711.", "canaryword kept"));
      await memory.recordFeedback(aFeedback("dm:ann", '{"note":"canaryword"}', "approved"));
      await memory.saveEpisode(anEpisode("t2", "channel:general", "Nothing here."));
      for (const open of [memory, made.reopen()]) {
        const others: MemoryScope[] = ["channel:general", "dm:bob", "dm:an", "dm:ann2", "shared", "channel:ann"];
        const seen = await open.search({ query: "canaryword 4711", scopes: others, limit: 50 });
        expect(JSON.stringify(seen)).not.toContain("canaryword");
        expect(await open.digest("channel:general")).not.toContain("canaryword");
        const own = await open.search({ query: "canaryword", scopes: ["dm:ann"], limit: 5 });
        expect(own[0]?.text).toContain("4711");
        expect(await open.digest("dm:ann")).toContain("canaryword");
      }
    });

    test("scopes never overlap, however they are spelled", async () => {
      const name = fc.oneof(
        fc.string({ maxLength: 12 }),
        fc.constantFrom("ann", "Ann", "../ann", ".", "..", "a/b", "%61nn", "ann%2F"),
      );
      await fc.assert(
        fc.asyncProperty(name, name, async (one, other) => {
          fc.pre(one !== other);
          await memory.saveEpisode(anEpisode("t1", `dm:${one}`, "canaryword"));
          expect(await memory.search({ query: "canaryword", scopes: [`dm:${one}`], limit: 1 })).toHaveLength(1);
          const seen = await memory.search({ query: "canaryword", scopes: [`dm:${other}`], limit: 50 });
          expect(seen.every((hit) => hit.scope === `dm:${other}`)).toBe(true);
        }),
        { numRuns: 30 },
      );
    });

    test("no query throws", async () => {
      await memory.saveEpisode(anEpisode("t1", "channel:general", "The anchor winch is stuck."));
      const pieces = fc.constantFrom(
        '"',
        "'",
        "*",
        "(",
        ")",
        "NEAR",
        "AND",
        "OR",
        "NOT",
        "^",
        ":",
        "-",
        "{",
        "}",
        "\0",
        "winch",
        "猫",
        "%",
        "\\",
      );
      const query = fc.oneof(
        fc.string({ unit: anyCharacter, maxLength: 60 }),
        fc.array(pieces, { maxLength: 12 }).map((some) => some.join(" ")),
      );
      await fc.assert(
        fc.asyncProperty(query, fc.integer({ min: -5, max: 500 }), async (text, limit) => {
          const hits = await memory.search({ query: text, scopes: ["channel:general", "shared"], limit });
          expect(hits.length).toBeLessThanOrEqual(Math.max(0, limit));
        }),
        { numRuns: 300 },
      );
    });

    test("an empty query, scope or limit finds nothing", async () => {
      await memory.saveEpisode(anEpisode("t1", "channel:general", "winch"));
      expect(await memory.search({ query: "", scopes: ["channel:general"], limit: 5 })).toEqual([]);
      expect(await memory.search({ query: "?!… --", scopes: ["channel:general"], limit: 5 })).toEqual([]);
      expect(await memory.search({ query: "winch", scopes: [], limit: 5 })).toEqual([]);
      expect(await memory.search({ query: "winch", scopes: ["channel:general"], limit: 0 })).toEqual([]);
    });

    test("results are sorted by score and limited", async () => {
      for (let index = 0; index < 6; index++) {
        await memory.saveEpisode(anEpisode(`t${index}`, "channel:general", `${"winch ".repeat(index + 1)}and rope`));
      }
      const hits = await memory.search({ query: "winch", scopes: ["channel:general"], limit: 4 });
      expect(hits).toHaveLength(4);
      expect(hits.map((hit) => hit.score)).toEqual(hits.map((hit) => hit.score).sort((one, other) => other - one));
    });

    test("the digest says what was decided and what failed, and never grows beyond 2,400 characters", async () => {
      expect(await memory.digest("channel:general")).toBe("");
      for (const outcome of ["approved", "ok", "approved", "ok", "denied"]) {
        await memory.recordFeedback(aFeedback("channel:general", '{"command":"git push"}', outcome));
      }
      const small = await memory.digest("channel:general");
      expect(small).toMatch(/git push.*: approved, then denied \(last/);
      for (let index = 0; index < 60; index++) {
        await memory.recordFeedback(
          aFeedback("channel:general", `{"command":"make target-${index} ${"x".repeat(200)}"}`, "failed"),
        );
      }
      const big = await memory.digest("channel:general");
      expect(big.length).toBeLessThanOrEqual(2_400);
      expect(big).toContain("target-59");
      expect(await memory.digest("channel:general")).toBe(big);
    });
  });
}
