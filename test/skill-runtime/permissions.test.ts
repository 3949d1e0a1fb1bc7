import { describe, expect, test } from "vitest";
import { parseSkill } from "../../src/skill-runtime/parse/parse-skill.ts";
import { skillText } from "./folders.ts";

function read(fields: string) {
  const { skill, diagnostics } = parseSkill(Buffer.from(skillText("demo", fields)), "/skills/demo/SKILL.md", null);
  const findings = diagnostics.filter(({ code }) => code.endsWith("permissions")).map(({ message }) => message);
  return { permissions: skill?.permissions, tools: skill?.tools ?? [], findings };
}

const nothing = { files: "none", network: [], env: [], commands: false, services: [] };

describe("permissions", () => {
  test("are nothing when nothing is declared", () => {
    expect(read("")).toMatchObject({ permissions: nothing, findings: [] });
    expect(read("permissions:")).toMatchObject({ permissions: nothing, findings: [] });
  });

  test("are what is declared", () => {
    const fields =
      "permissions: { files: read, network: [a.example, 'b.example:8443'], env: [A_B], commands: true, memory: true }";
    expect(read(fields)).toMatchObject({
      permissions: {
        files: "read",
        network: ["a.example", "b.example:8443"],
        env: ["A_B"],
        commands: true,
        services: ["memory"],
      },
      findings: [],
    });
  });

  test.each([
    ["permissions: all", "must be a map"],
    ["permissions: { files: everything }", "files must be none, read or write"],
    ["permissions: { commands: 'yes' }", "commands must be true or false"],
    ["permissions: { env: ['A B', 7] }", "env must be a list of names"],
    ["permissions: { disk: true }", "has no disk"],
  ])("that can't be read give nothing, and a finding: %s", (fields, finding) => {
    expect(read(fields)).toMatchObject({ permissions: nothing, findings: [expect.stringContaining(finding)] });
  });

  test("for the network make every tool outward and its results untrusted, whatever its author says", () => {
    const { tools } = read(
      "permissions: { network: [a.example] }\ntools: [{ name: act, outward: false, untrusted: false }]",
    );
    expect(tools).toMatchObject([{ isOutward: true, readsUntrusted: true }]);
  });
});
