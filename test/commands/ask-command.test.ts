import { describe, expect, test } from "vitest";
import { withSkill } from "../../src/engine/asked-skill.ts";
import { askText } from "../../src/platforms/shared/ask-text.ts";
import { inboundMessage } from "../doubles/records.ts";

const nameOf = (asked: string) => (asked === "code-review" || asked === "review" ? "code-review" : undefined);

describe("a command that is something said", () => {
  test.each([
    ["ask", " what time is it? ", "what time is it?"],
    ["ask", "  ", undefined],
    ["skill", "code-review look at a.ts", "/skill code-review look at a.ts"],
    ["skill", "code-review", undefined],
    ["skill", "", undefined],
    ["status", "now", undefined],
  ])("%s %j says %j", (name, rest, said) => {
    expect(askText(name, rest)).toBe(said);
  });
});

describe("a message with a skill in front", () => {
  test("is asked with it, and is said without it", () => {
    const asked = withSkill(inboundMessage({ text: "/skill code-review look at\na.ts" }), nameOf);
    expect(asked).toMatchObject({ message: { text: "look at\na.ts", skill: "code-review" } });
  });

  test("that has another name too is asked with it by that", () => {
    const asked = withSkill(inboundMessage({ text: "/skill review look" }), nameOf);
    expect(asked).toMatchObject({ message: { text: "look", skill: "code-review" } });
  });

  test("that is not there is not asked, and the person is told", () => {
    const asked = withSkill(inboundMessage({ text: "/skill `code look" }), nameOf);
    expect(asked).toMatchObject({ notice: { text: expect.stringContaining("There is no skill") } });
  });

  test.each(["hello", "say /skill code-review x", "/skill", "/skill code-review", "/skills code-review x"])(
    "%j is a message like any other",
    (text) => {
      const message = inboundMessage({ text });
      expect(withSkill(message, nameOf)).toEqual({ message });
    },
  );
});
