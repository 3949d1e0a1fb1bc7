import { describe, expect, test } from "vitest";
import { alwaysScore, triggeredSkills } from "../../src/context/triggers.ts";
import { skillBrief } from "./world.ts";

function names(said: string, ...triggers: string[][]): string[] {
  const briefs = triggers.map((own, index) => skillBrief(`s${index}`, { triggers: own }));
  return triggeredSkills(briefs, said).map(({ brief }) => brief.name);
}

describe("triggers", () => {
  test.each([
    ["please commit this", "commit"],
    ["COMMIT!", "commit"],
    ["das ist für Größe", "größe"],
    ["请帮我部署服务", "部署"],
    ["用git提交代码", "git"],
    ["デプロイしてください", "デプロイ"],
    ["هل يمكنك نشر الموقع؟", "نشر"],
    ["проверь код, пожалуйста", "код"],
    ["ｃｏｍｍｉｔ it", "commit"],
    ["do a code review now", "code review"],
    ["c++ is fine", "c++"],
  ])("in %j the word %j is found", (said, trigger) => {
    expect(names(said, [trigger])).toEqual(["s0"]);
  });

  test.each([
    ["recommitting", "commit"],
    ["the digits of pi", "git"],
    ["кодекс", "код"],
    ["größenwahn", "größe"],
    ["git_status", "git"],
    ["anything", ""],
    ["", "commit"],
    ["anything *", "\\*"],
  ])("in %j the word %j is not found", (said, trigger) => {
    expect(names(said, [trigger])).toEqual([]);
  });

  test("a star is always there and comes first", () => {
    const [first] = triggeredSkills([skillBrief("a", { triggers: ["x"] }), skillBrief("b", { triggers: ["*"] })], "x");
    expect([first?.brief.name, first?.score]).toEqual(["b", alwaysScore]);
  });

  test("more and longer matches are more relevant", () => {
    expect(names("review the pull request", ["review"], ["pull request", "review"], ["request"])).toEqual([
      "s1",
      "s0",
      "s2",
    ]);
  });

  test("skills without a body or triggers are never injected", () => {
    expect(triggeredSkills([skillBrief("b", { triggers: ["x"], body: " " }), skillBrief("c")], "x")).toEqual([]);
  });

  test("a triggered skill with tools comes after all skills without, however well it matches", () => {
    const briefs = [
      skillBrief("deploy", { triggers: ["x", "y", "z"], isCapability: true }),
      skillBrief("ship", { triggers: ["x y"], isCapability: true }),
      skillBrief("guide", { triggers: ["z"] }),
      skillBrief("star", { triggers: ["*"], isCapability: true }),
    ];
    const found = triggeredSkills(briefs, "x y z");
    expect(found.map(({ brief }) => brief.name)).toEqual(["guide", "deploy", "ship"]);
    expect(found.map(({ score }) => score >= 1)).toEqual([true, false, false]);
  });
});

test("a skill that is asked for by name comes first, also one with tools and without triggers", () => {
  const briefs = [skillBrief("git", { triggers: ["commit"] }), skillBrief("shell", { isCapability: true })];
  const found = triggeredSkills(briefs, "commit this", ["shell"]);
  expect(found.map(({ brief, score }) => [brief.name, score === alwaysScore])).toEqual([
    ["shell", true],
    ["git", false],
  ]);
});
