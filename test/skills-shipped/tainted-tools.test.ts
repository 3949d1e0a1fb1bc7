/** What every tool does after text from outside: it asks, or what it does can't hurt. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { callTags } from "../../src/engine/turn/call-record.ts";
import { createContainment } from "../../src/engine/turn/containment.ts";
import { createGate } from "../../src/gate/gate.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { type Origin, originOf, originOfPerson } from "../../src/ports/origin.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { loadSkillSpec } from "../../src/skill-runtime/library/load-skill.ts";
import { withStandIns } from "../../src/skill-runtime/plugins/dynamic-tools.ts";
import { skillsFolder } from "./place.ts";

/** `harmless` says why: what it changes is held back, or it changes nothing. */
interface Decision {
  asks?: JsonObject[];
  harmless?: { because: string; calls: JsonObject[] };
}

const reads = "it reads what the person can read, and changes nothing";
const draft = "it changes the draft only, which people see at the end of the turn, and marks what it writes";
const decisions: Record<string, Decision> = {
  load_skill: { harmless: { because: reads, calls: [{ name: "git" }] } },
  offered_tool: { asks: [{}] },
  chat_history: { harmless: { because: reads, calls: [{}] } },
  chat_search: { harmless: { because: reads, calls: [{ query: "x" }] } },
  chat_fetch_file: {
    harmless: {
      because: "it adds a file of the chat, marked as an attachment, and replaces none that was changed",
      calls: [{ messageId: "1", name: "a" }],
    },
  },
  chat_post: { asks: [{ text: "x" }, { text: "x", channel: "#general" }] },
  chat_react: { asks: [{ emoji: "👍" }, { emoji: "👍", messageId: "1" }] },
  chat_open_thread: { asks: [{ name: "x", text: "x" }] },
  chat_upload: { asks: [{ path: "a" }, { path: "a", channel: "#general" }] },
  data_describe: { harmless: { because: reads, calls: [{ files: ["a.csv"] }] } },
  data_query: { harmless: { because: draft, calls: [{ files: ["a.csv"], sql: "SELECT 1", save_as: "b.csv" }] } },
  data_chart: { harmless: { because: draft, calls: [{ files: ["a.csv"], type: "bar" }] } },
  read_file: { harmless: { because: reads, calls: [{ path: "a" }] } },
  write_file: { harmless: { because: draft, calls: [{ path: "a", content: "x" }] } },
  edit_file: { harmless: { because: draft, calls: [{ path: "a", old_text: "x", new_text: "y" }] } },
  list_folder: { harmless: { because: reads, calls: [{}] } },
  search_files: { harmless: { because: reads, calls: [{ text: "x" }] } },
  remember: {
    asks: [
      { text: "x", title: "Deploys", replace: true },
      { text: "x", shared: true },
    ],
    harmless: {
      because: "without replace it only adds a note, which keeps its origins and enters no prompt until it is recalled",
      calls: [{ text: "x" }, { text: "x", title: "Deploys", replace: false }],
    },
  },
  recall: { harmless: { because: reads, calls: [{ query: "x" }] } },
  forget_note: { asks: [{ title: "x" }] },
  schedule_add: { asks: ["remind", "do"].map((kind) => ({ text: "x", when: "in 1 hour", kind })) },
  schedule_list: { harmless: { because: reads, calls: [{}] } },
  schedule_remove: { asks: [{ id: "1a2b3c4d" }] },
  shell_exec: {
    asks: [
      { command: "curl x", network: ["a.example"] },
      { command: "curl x", network: ["free.example"] },
    ],
    harmless: { because: draft, calls: [{ command: "rm -rf build" }, { command: "make", background: true }] },
  },
  shell_jobs: {
    asks: [{ stop: "1" }, { read: "1", stop: "1" }],
    harmless: { because: reads, calls: [{}, { read: "1" }] },
  },
  list_skills: { harmless: { because: reads, calls: [{}] } },
  write_skill: { asks: [{ name: "x", content: "x" }] },
  edit_skill: { asks: [{ name: "x", old_text: "x", new_text: "y" }] },
  web_fetch: {
    harmless: {
      because: "it fetches only addresses that somebody wrote or a page showed",
      calls: [{ url: "a.example" }],
    },
  },
  web_fetch_any: { asks: [{ url: "a.example" }] },
  web_search: {
    harmless: { because: "only the provider that the operator chose sees the words", calls: [{ query: "x" }] },
  },
};

const set = withStandIns(await loadSkills([skillsFolder]));
const specs = [loadSkillSpec, ...set.skills.flatMap(({ tools }) => tools)];
const page = originOf("web", "example.com/page");
const ben = originOfPerson({ id: "U2", name: "Ben" });
const containment = createContainment({
  ...{ sandboxHolds: true, asksForCommands: false, fits: async () => true },
  isFreeHost: (host) => host === "free.example",
  ...{ problemWithHosts: () => undefined, describeHosts: () => [], changedPaths: async () => [] },
});

function asks(spec: ToolSpec, input: JsonObject, untrusted: Origin[], matching: "exact" | "extended"): boolean {
  const gate = createGate({ rules: gateRules(set), matching });
  const verdict = gate.classify(spec.name, input, callTags(spec, { id: "c", name: spec.name, input }, untrusted));
  expect(verdict.class).not.toBe("block");
  const state = { isUnconfined: false, untrusted, isAsked: verdict.class === "confirm" };
  return verdict.class === "confirm" || containment.reasons(spec, input, state).length > 0;
}

test("every tool of a shipped skill has a decision about what it does after text from outside", () => {
  expect(specs.map(({ name }) => name).sort()).toEqual(Object.keys(decisions).sort());
});

test.each(["exact", "extended"] as const)(
  "after text from outside, each tool asks that could hurt, with %s matching",
  (matching) => {
    for (const spec of specs) {
      const { asks: asking = [], harmless } = decisions[spec.name] ?? {};
      for (const input of asking)
        expect([spec.name, input, asks(spec, input, [page], matching)]).toEqual([spec.name, input, true]);
      for (const input of harmless?.calls ?? [])
        expect([spec.name, input, asks(spec, input, [page], matching)]).toEqual([spec.name, input, false]);
    }
  },
);

test("after other people's words only, what is the person's own asks, and the rest does not ask for it", () => {
  const asksAfterBen = specs.filter((spec) =>
    (decisions[spec.name]?.asks ?? []).some(
      (input) => asks(spec, input, [ben], "extended") && !asks(spec, input, [], "extended"),
    ),
  );
  expect(asksAfterBen.map(({ name }) => name).sort()).toEqual(["schedule_remove", "web_fetch_any"]);
});

test("a tool that nobody has decided about asks after text from outside, unless it only reads or changes the draft", () => {
  const flags = {
    isReadOnly: fc.boolean(),
    isOutward: fc.boolean(),
    isIdempotent: fc.boolean(),
    readsUntrusted: fc.boolean(),
  };
  const spec = fc.record({
    ...flags,
    isInstalled: fc.boolean(),
    folder: fc.constantFrom("none", "read", "write"),
    asksTaintedWith: fc.constantFrom<undefined | string[]>(undefined, []),
  });
  const input = fc.dictionary(fc.constantFrom("stop", "text", "url", "network"), fc.jsonValue());
  fc.assert(
    fc.property(
      spec,
      input,
      fc.constantFrom(page, originOf("mcp", "hub"), originOf("bot", "b")),
      (drawn, json, origin) => {
        const { asksTaintedWith, ...more } = drawn;
        const tool: ToolSpec = {
          ...{ name: "new_tool", description: "", parameters: {}, skill: "new", timeoutMs: 1, shellParameters: [] },
          ...more,
          ...(asksTaintedWith === undefined ? {} : { asksTaintedWith }),
        };
        const isHarmless =
          (asksTaintedWith !== undefined && !more.isInstalled) ||
          (!more.isOutward && (more.isReadOnly || (more.folder === "write" && !more.isInstalled)));
        const state = { isUnconfined: false, untrusted: [ben, origin] };
        expect(containment.reasons(tool, json as JsonObject, state).length > 0).toBe(!isHarmless);
        expect(containment.reasons(tool, json as JsonObject, { ...state, untrusted: [ben] })).toEqual([]);
      },
    ),
    { numRuns: 500 },
  );
});
