/** Turns whose calls bring nothing new: they end after few requests. What only looks like it goes on. */
import { expect, test } from "vitest";
import type { ToolJob } from "../../src/ports/tool.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, type ScriptStep, says } from "../doubles/scripted-provider.ts";
import type { StageDoubleOptions } from "../doubles/turn-deps.ts";
import { doubles, run, useDoubles } from "./run-turn-world.ts";

useDoubles();

const tools = [
  toolSpec("look", { isReadOnly: true }),
  toolSpec("edit", { folder: "write" }),
  toolSpec("post", { isOutward: true }),
  toolSpec("remember", { isIdempotent: true }),
];
const look = (text = "a") => calls({ name: "look", input: { text } });
const edit = (text = "a") => calls({ name: "edit", input: { text } });
const unknown = (name: string) => calls({ name });
const cycle = (...steps: ScriptStep[]) => Array.from({ length: 20 }, (_, index) => steps[index % steps.length] ?? []);

/** What the model does for ever while it may call tools, and how many requests the turn then has. */
async function requestsOf(steps: ScriptStep[], options: Partial<StageDoubleOptions> = {}): Promise<number> {
  const answersAtLast = steps.map(
    (step): ScriptStep =>
      (request, signal) => {
        if (request.mayCall === false) return says("That is all.");
        return typeof step === "function" ? step(request, signal) : step;
      },
  );
  await run({ tools, limits: { steps: 12 }, ...options, steps: answersAtLast });
  return doubles.provider.requests.length;
}

const isContained = (): Partial<StageDoubleOptions> => ({ contained: () => true });
const fails = async () => ({ status: "failed" as const, text: "no such text" });

test.each<[string, ScriptStep[], Partial<StageDoubleOptions>, number]>([
  ["the same call that reads", cycle(look()), {}, 4],
  ["two calls that read, in turn", cycle(look("a"), look("b")), {}, 6],
  ["three calls that read, in turn", cycle(look("a"), look("b"), look("c")), {}, 8],
  ["several calls at once, the same each time", cycle(calls({ name: "look" }, { name: "look" })), {}, 3],
  ["a call that fails in the same way each time", cycle(edit()), { runTool: fails }, 4],
  ["a command in the folder that says the same each time", cycle(edit()), isContained(), 4],
  ["two changes that undo each other", cycle(edit("a"), edit("b")), isContained(), 7],
  ["a call that changes nothing the second time", cycle(calls({ name: "remember" })), {}, 4],
  ["a call of a tool that does not exist", cycle(unknown("search")), {}, 4],
  ["calls of another unknown tool each time", Array.from("abcdefghijkl", (name) => unknown(name)), {}, 4],
  [
    "calls of twenty unknown tools at once",
    cycle(calls(...Array.from("abcdefghijklmnopqrst", (name) => ({ name })))),
    {},
    4,
  ],
  ["a call without a name", cycle(calls({ name: "", inputJson: "" })), {}, 4],
  ["arguments that don't fit", cycle(calls({ name: "look", input: { text: 3 } })), {}, 4],
  ["a known call beside unknown ones", cycle(calls({ name: "look" }, { name: "search" })), {}, 4],
])("a model soon has to answer without tools if it goes on with %s", async (_what, steps, options, expected) => {
  expect(await requestsOf(steps, options)).toBe(expected);
  expect(doubles.reply.segments.at(-1)).toBe(
    "That is all.\n\n*(My last steps brought nothing new, so I answered with what I had. If something is missing, ask in other words, or for less at once.)*",
  );
  const last = doubles.provider.requests.at(-1);
  expect(JSON.stringify(last)).toContain("Your last calls brought nothing new");
});

test.each<[string, ScriptStep[], Partial<StageDoubleOptions>]>([
  ["posts the same line again and again", cycle(calls({ name: "post" })), {}],
  [
    "looks again after each change",
    cycle(look(), ...Array.from("abcdefghij", (text) => [edit(text), look()]).flat()),
    {},
  ],
  ["sees something new each time", cycle(look()), { runTool: async ({ id }: ToolJob) => ({ text: id }) }],
  ["fails in another way each time", cycle(edit()), { runTool: async ({ id }) => ({ status: "failed", text: id }) }],
  [
    "is corrected now and then",
    cycle(unknown("a"), unknown("b"), look("a"), unknown("c"), unknown("d"), look("b")),
    {},
  ],
])("a model that %s uses its steps as before", async (_what, steps, options) => {
  expect(await requestsOf(steps, { ...options, limits: { steps: 6 } })).toBe(7);
  expect(doubles.reply.segments.at(-1)).toContain("I used all 6 steps");
});

test("the third call that only reads does not run, and the model is told to use the result that it has", async () => {
  await requestsOf(cycle(look()));
  expect(doubles.ran).toHaveLength(2);
  expect(JSON.stringify(doubles.provider.requests.at(-1)?.messages.at(-1))).toContain(
    "you have made this call twice in this turn, with the same result",
  );
});

test("a person who writes in the meantime may want a third look", async () => {
  const more = inboundMessage({ id: "m2", text: "look again" });
  let asked = 0;
  await run({
    tools,
    steps: [look(), look(), look(), says("Three times.")],
    takeSteering: async () => (++asked === 3 ? [more] : []),
  });
  expect(doubles.ran).toHaveLength(3);
  expect(doubles.reply.segments.at(-1)).toBe("Three times.");
});

test("calls that rules or people refused have their own limit, which words of others don't reach", async () => {
  const steps = [...Array.from({ length: 5 }, () => calls({ name: "post" })), says("None was allowed.")];
  const { turn } = await run({ tools, steps, limits: { refusals: 10 }, judge: () => "block" }, turnRecord());
  expect(turn.steps).toHaveLength(6);
  expect(doubles.reply.segments.at(-1)).toBe("None was allowed.");
});

test("a model that only wants to call gets a sentence instead of an answer", async () => {
  await run({ tools, steps: cycle(look()) });
  expect(doubles.provider.requests).toHaveLength(4);
  expect(doubles.reply.segments.at(-1)).toBe(
    "⚠️ My last steps brought nothing new, and the model ended without an answer. If something is missing, ask in other words, or for less at once.",
  );
});
