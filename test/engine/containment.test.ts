/** What a call could do beyond its draft, and what must be asked because of it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ContainmentOptions, createContainment } from "../../src/engine/turn/containment.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { type Origin, originOf, originOfPerson } from "../../src/ports/origin.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";

const shell: ToolSpec = {
  name: "shell_exec",
  description: "",
  parameters: { type: "object" },
  skill: "shell",
  isReadOnly: false,
  isIdempotent: false,
  readsUntrusted: false,
  isOutward: false,
  timeoutMs: 1_000,
  folder: "write",
  shellParameters: ["command"],
};
const writeFile: ToolSpec = { ...shell, name: "write_file", shellParameters: [] };
const readFile: ToolSpec = { ...writeFile, name: "read_file", folder: "read" };
const server: ToolSpec = { ...writeFile, name: "hub_open", isOutward: true };

function containment(changes: Partial<ContainmentOptions> = {}) {
  return createContainment({
    sandboxHolds: true,
    asksForCommands: false,
    fits: async () => true,
    isFreeHost: () => false,
    problemWithHosts: (hosts) => (hosts.includes("*") ? "it is a wildcard" : undefined),
    describeHosts: (hosts) => hosts.map((host) => `${host}, port 443`),
    changedPaths: async () => [],
    ...changes,
  });
}

const nothingFits: Partial<ContainmentOptions> = { fits: async () => false };
const onlyFirstFree = { isFreeHost: (host: string) => host === "a.example" };

describe("what must be asked", () => {
  test("after reading text from outside, free hosts and other programs ask; what people said, or the program itself, does not", () => {
    const { reasons } = containment(onlyFirstFree);
    const offered = { ...server, offeredBy: "hub" };
    const reasonsAfter = (spec: ToolSpec, network: string[], ...untrusted: Origin[]) =>
      reasons(spec, { command: "x", network }, { isUnconfined: false, untrusted }).length;
    const page = originOf("web", "example.com");
    const ben = originOfPerson({ id: "U2", name: "Ben" });
    expect(reasonsAfter(shell, ["a.example"], page)).toBe(1);
    expect(reasonsAfter(shell, ["a.example"], ben)).toBe(0);
    expect(reasonsAfter(shell, [], page)).toBe(0);
    expect(reasonsAfter(offered, [], page)).toBe(1);
    expect(reasonsAfter(offered, [], originOf("mcp", "other"))).toBe(1);
    expect(reasonsAfter({ ...offered, isReadOnly: true }, [], ben, originOf("mcp", "hub"))).toBe(0);
    expect(reasonsAfter({ ...offered, isReadOnly: true }, [], originOf("mcp", "other"))).toBe(1);
  });

  test("after its own program's text, a tool asks unless it only reads and reaches no address that nobody has written", () => {
    const { reasons } = containment();
    const read = { ...server, offeredBy: "hub", isReadOnly: true };
    const asks = (spec: ToolSpec, input: JsonObject) =>
      reasons(spec, input, { isUnconfined: false, untrusted: [hub], givenAddresses: ["https://a.example/x"] }).length >
      0;
    const hub = { ...originOf("mcp", "hub"), via: "an earlier turn" };
    expect(asks({ ...read, isReadOnly: false }, { to: "ann" })).toBe(true);
    for (const input of [
      {},
      { id: "7" },
      { url: "https://a.example/x" },
      { url: "a.example/x" },
      { query: "about a.b" },
    ])
      expect([input, asks(read, input)]).toEqual([input, false]);
    for (const input of [
      { url: "https://evil.example/?key=1" },
      { page: { sourceUrl: "evil.example/x" } },
      { links: ["see", "and wss://evil.example."] },
      { host: "evil.example" },
      { query: "https://a.example/x https://evil.example" },
    ])
      expect([input, asks(read, input)]).toEqual([input, true]);
    expect(reasons(read, { url: "https://evil.example" }, { isUnconfined: false, untrusted: [] })).toEqual([]);
  });

  test.each([
    ["a command in a view", shell, { command: "rm -rf build" }, {}, false],
    ["a file that is written to a draft", writeFile, { path: "a" }, {}, false],
    ["a command with network access", shell, { command: "curl a.example", network: ["a.example"] }, {}, true],
    ["a host that is free", shell, { command: "x", network: ["a.example"] }, onlyFirstFree, false],
    ["one free host of two", shell, { network: ["a.example", "b.example"] }, onlyFirstFree, true],
    ["any command, when the settings say so", shell, { command: "ls" }, { asksForCommands: true }, true],
    ["a file, when commands are to ask", writeFile, { path: "a" }, { asksForCommands: true }, false],
    ["any command without a sandbox", shell, { command: "ls" }, { sandboxHolds: false }, true],
    ["a written file without a sandbox", writeFile, { path: "a" }, { sandboxHolds: false }, true],
    ["a read file without a sandbox", readFile, { path: "a" }, { sandboxHolds: false }, false],
    ["any command in a folder that can't be copied", shell, { command: "ls" }, nothingFits, true],
    ["a file written there", writeFile, { path: "a" }, nothingFits, true],
    ["an outward tool, whose own rules ask", server, {}, { sandboxHolds: false }, false],
  ] as const)("%s", async (_what, spec, input, changes, asks) => {
    const { isUnconfined, reasons: reasonsOf } = containment(changes);
    const reasons = reasonsOf(spec, JSON.parse(JSON.stringify(input)), {
      isUnconfined: await isUnconfined(spec, "/srv/site"),
      untrusted: [],
    });
    expect(reasons.length > 0).toBe(asks);
    // Without a file it is no rule of a skill, so that no grant covers it.
    for (const { file, reason } of reasons) expect([file, reason]).toEqual(["", expect.stringMatching(/\.$/)]);
  });

  test("hosts that can't be read are no question for people: the model is told", () => {
    const { problem } = containment();
    expect(problem(shell, { command: "curl a.example", network: ["*"] })).toBe("it is a wildcard");
    expect(problem(shell, { command: "curl a.example", network: ["a.example"] })).toBeUndefined();
    expect(problem(shell, { command: "ls" })).toBeUndefined();
    expect(problem(undefined, { network: ["*"] })).toBeUndefined();
  });

  test("a tool that is not known needs no question: it is refused elsewhere", () => {
    expect(containment({ sandboxHolds: false }).reasons(undefined, {}, { isUnconfined: false, untrusted: [] })).toEqual(
      [],
    );
  });
});

test.each([
  ["in a view", shell, { command: "x" }, true],
  ["with network access", shell, { command: "x", network: ["a.example"] }, false],
  ["in the background", shell, { command: "x", background: true }, false],
  ["of an outward tool", server, {}, false],
  ["that only reads", readFile, {}, false],
] as const)("a call %s may run again after a crash: %#", (_what, spec, input, may) => {
  expect(containment().isContained(spec, JSON.parse(JSON.stringify(input)))).toBe(may);
});

test("the card names hosts, and unapproved changes that a call can take along", async () => {
  const paths = Array.from({ length: 12 }, (_, index) => `f${index}`);
  const facts = await containment({ changedPaths: async () => paths }).facts(shell, { network: ["a.example"] }, "c");
  expect(facts[0]).toBe("Reaches a.example, port 443");
  expect(facts[1]).toMatch(/^Can read changes that nobody has approved yet: f0, .*f9 and 2 more$/);
  expect(await containment().facts(shell, { command: "ls" }, "c")).toEqual([]);
});

describe("whether a call can be undone", () => {
  const { undo } = containment();
  const anySpec = fc.record({
    isReadOnly: fc.boolean(),
    isOutward: fc.boolean(),
    folder: fc.constantFrom("none", "read", "write"),
    offeredBy: fc.constantFrom(undefined, "hub"),
  });

  test("is said of every kind of call, and only a contained one that is nobody else's can be", () => {
    fc.assert(
      fc.property(
        anySpec,
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        ({ offeredBy, ...more }, isKnown, isUnconfined, sends) => {
          const spec = { ...shell, ...more, ...(offeredBy === undefined ? {} : { offeredBy }) };
          const input = sends ? { network: ["a.example"] } : {};
          const said = undo(isKnown ? spec : undefined, input, isUnconfined);
          expect(said).toMatch(/^(?:Can|Can't|What|It) .+\.$/);
          const isContained =
            isKnown && !isUnconfined && !sends && !more.isOutward && more.folder === "write" && !more.isReadOnly;
          expect(said.startsWith("Can be undone")).toBe(isContained && offeredBy === undefined);
          if (isKnown && offeredBy !== undefined) expect(said).toBe("Can't be undone: another program does it.");
        },
      ),
    );
  });
});
