/**
 * What the labels of untrusted text cost: of the harmless commands and of the calls that skills say are safe, those that ask
 * only because the prompt held what others have written.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { createContainment } from "../../src/engine/turn/containment.ts";
import { createGate } from "../../src/gate/gate.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { type Origin, originOf, originOfPerson, taintTags } from "../../src/ports/origin.ts";
import { networkOf, type ToolSpec } from "../../src/ports/tool.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { looking, working } from "./tables/harmless.ts";

const page = originOf("web", "example.com/page");
const ben = originOfPerson({ id: "U2", name: "Ben" });

const set = await loadSkills([join(import.meta.dirname, "../../skills")]);
const gate = createGate({ rules: gateRules(set), matching: "extended" });
const specs = new Map(set.skills.flatMap(({ tools }) => tools.map((spec) => [spec.name, spec] as const)));
const containment = createContainment({
  sandboxHolds: true,
  asksForCommands: false,
  fits: async () => true,
  isFreeHost: () => false,
  problemWithHosts: () => undefined,
  describeHosts: (hosts) => [...hosts],
  changedPaths: async () => [],
});

interface Call {
  tool: string;
  args: JsonObject;
}

/** The calls that ask in such a prompt, and not in a clean one. */
function extra(calls: Call[], untrusted: Origin[]): string[] {
  const asks = ({ tool, args }: Call, origins: Origin[]) => {
    const spec: ToolSpec | undefined = specs.get(tool);
    const isOutward = spec === undefined || spec.isOutward || networkOf(spec, args).length > 0;
    const verdict = gate.classify(tool, args, taintTags(origins, isOutward));
    const reasons = containment.reasons(spec, args, { isUnconfined: false, untrusted: origins });
    return verdict.class !== "safe" || reasons.length > 0;
  };
  const asking = calls.filter((call) => !asks(call, []) && asks(call, untrusted));
  return [...new Set(asking.map(({ tool }) => tool))].map(
    (name) => `${name} ${asking.filter(({ tool }) => tool === name).length}`,
  );
}

test("none of the harmless commands asks because of what was read", () => {
  const commands = [...looking, ...working].map((command) => ({ tool: "shell_exec", args: { command } }));
  expect(commands.length).toBeGreaterThan(400);
  expect(extra(commands, [page])).toEqual([]);
  expect(extra(commands, [ben])).toEqual([]);
});

test("after outside text, calls of shipped skills ask only if they change or send something", () => {
  const calls = set.skills.flatMap(({ gateTests }) =>
    gateTests.filter(({ want }) => want === "safe").map(({ tool, args }) => ({ tool, args })),
  );
  const known = calls.filter(({ tool }) => specs.has(tool));
  expect(known.length).toBeGreaterThan(40);
  expect(extra(known, [page])).toEqual([
    "chat_react 1",
    "chat_upload 1",
    "schedule_add 1",
    "schedule_remove 1",
    "shell_jobs 1",
    "web_fetch_any 1",
  ]);
  expect(extra(known, [ben])).toEqual(["schedule_remove 1", "web_fetch_any 1"]);
});
