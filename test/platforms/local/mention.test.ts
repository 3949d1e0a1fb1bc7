import fc from "fast-check";
import { expect, test } from "vitest";
import { hasMention, withoutMention } from "../../../src/platforms/local/mention.ts";
import { anyCharacter } from "../../doubles/any-character.ts";

test.each([
  "@remora help",
  "@Remora, help",
  "hey @remora!",
  "(@remora)",
  "you decide. @remora.",
  "请 @remora 帮忙",
  "@remora",
  "line\n@remora go",
])("%j is meant for the agent", (text) => {
  expect(hasMention(text)).toBe(true);
});

test.each([
  "remora help",
  "me@remora.dev",
  "@remora.dev is a site",
  "@remorafan",
  "@remora-bot",
  "@remora_2",
  "",
  "@ remora",
])("%j is not", (text) => {
  expect(hasMention(text)).toBe(false);
});

test.each([
  ["@remora run ls -la", "run ls -la"],
  ["  @Remora: run ls", "run ls"],
  ["@remora, what?", "what?"],
  ["@remora\nfirst\nsecond", "\nfirst\nsecond"],
  ["hey @remora what?", "hey @remora what?"],
  ["@remora", ""],
  ["no mention", "no mention"],
])("%j says %j", (text, said) => {
  expect(withoutMention(text)).toBe(said);
});

test("any text is read without harm, and only a mention in front is taken off", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(text.endsWith(withoutMention(text))).toBe(true);
      if (!hasMention(text)) expect(withoutMention(text)).toBe(text);
    }),
  );
});
