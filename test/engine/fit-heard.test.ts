/** Which earlier messages a turn keeps. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fitHeard } from "../../src/engine/turn/fit-heard.ts";
import type { EarlierKind, EarlierLine } from "../../src/ports/earlier.ts";
import { anyCharacter } from "../doubles/any-character.ts";

function line(id: string, changes: Partial<EarlierLine> = {}): EarlierLine {
  const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
  return { id, kind: "thread", isOwn: false, author, text: id, at: 0, files: [], ...changes };
}

const texts = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 300 }),
  fc.string({ unit: "grapheme", minLength: 500, maxLength: 3_000 }),
);
const lines = fc
  .tuple(
    fc.boolean(),
    fc.array(
      fc.record({
        kind: fc.constantFrom<EarlierKind>("thread", "thread", "thread", "linked"),
        text: texts,
        at: fc.integer({ min: 1, max: 1_000 }),
        id: fc.integer({ min: 1, max: 80 }),
      }),
      { maxLength: 60 },
    ),
  )
  .map(([hasRoot, rest]) => [
    ...(hasRoot ? [line("root", { kind: "root", text: "the root" })] : []),
    ...rest.map(({ id, ...each }) => line(`m${id}`, each)),
  ]);

test("whatever was said, the limits hold, the first message and links stay, and the rest is the newest without gaps", () => {
  const limits = fc.record({
    messages: fc.integer({ min: 0, max: 50 }),
    bytes: fc.integer({ min: 1_024, max: 8_000 }),
  });
  fc.assert(
    fc.property(lines, limits, (given, limit) => {
      const heard = fitHeard({ lines: given, leftOut: 7, notes: ["a note"] }, limit);
      const others = heard.lines.filter(({ kind }) => kind === "thread");
      expect(others.length).toBeLessThanOrEqual(limit.messages);
      expect(heard.lines.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)).toBeLessThanOrEqual(limit.bytes);
      expect(heard.lines.every(({ text }) => text.isWellFormed())).toBe(true);
      expect(new Set(heard.lines.map(({ id }) => id)).size).toBe(heard.lines.length);
      expect(heard.lines.some(({ kind }) => kind === "root")).toBe(given.some(({ kind }) => kind === "root"));
      const links = new Set(given.filter(({ kind }) => kind === "linked").map(({ id }) => id));
      expect(heard.lines.filter(({ kind }) => kind === "linked")).toHaveLength(Math.min(3, links.size));
      const kinds = new Map(given.map(({ id, kind }) => [id, kind]));
      const candidates = [...kinds.keys()].filter((id) => id !== "root" && !links.has(id));
      expect(heard.leftOut).toBe(7 + candidates.length - others.length);
      expect(others.map(({ at }) => at)).toEqual(others.map(({ at }) => at).sort((a, b) => a - b));
      expect(heard.notes).toEqual(["a note"]);
    }),
    { numRuns: 300 },
  );
});

test("of a long thread the first message and the newest stay, and the number of the others is known", () => {
  const thread = Array.from({ length: 300 }, (_, index) => line(`m${index}`, { at: index }));
  const all = [line("root", { kind: "root" }), ...thread];
  const heard = fitHeard({ lines: all, leftOut: 0, notes: [] }, { messages: 50, bytes: 20_480 });
  expect(heard.lines.map(({ id }) => id)).toEqual(["root", ...thread.slice(-50).map(({ id }) => id)]);
  expect(heard.leftOut).toBe(250);
});

test("one huge message does not replace all others, and names can't be huge", () => {
  const huge = line("huge", {
    text: "🎉".repeat(20_000),
    author: { id: "x", name: "n".repeat(5_000), isBot: false, roles: [] },
    files: Array.from({ length: 200 }, () => "f".repeat(5_000)),
    at: 9,
  });
  const rest = Array.from({ length: 20 }, (_, index) => line(`m${index}`));
  const { lines: kept } = fitHeard({ lines: [...rest, huge], leftOut: 0, notes: [] }, { messages: 50, bytes: 20_480 });
  expect(kept).toHaveLength(21);
  expect(JSON.stringify(kept.at(-1)).length).toBeLessThan(8_000);
  expect(kept.at(-1)?.text).toMatch(/🎉…$/u);
});
