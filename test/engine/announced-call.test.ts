/** Answers that only say what the model is going to do: it is asked once more. Whatever else it says is its answer. */
import { describe, expect, test } from "vitest";
import { isAnnouncement } from "../../src/engine/turn/announced-call.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, fails, says } from "../doubles/scripted-provider.ts";
import { doubles, run, useDoubles } from "./run-turn-world.ts";

const tools = [toolSpec("read_file", { isReadOnly: true }), toolSpec("recall", { isReadOnly: true })];
const announcement = "To answer this question, I need to read the stock.txt file. Let's proceed with that.";
const readIt = calls({ name: "read_file", input: { text: "stock.txt" } });
const shown = () => doubles.reply.segments.at(-1);

// As Qwen2.5-Coder 1.5B wrote them.
test.each([
  announcement,
  "To find the code word in notes.txt, you can use the `read_file` function with the path `notes.txt`.",
  "I will use the `read_file` function to do this.",
  "To find out who comes to the meeting on Thursday, I need to read the `termine.txt` file.",
  "Sure, I'll check the calendar:",
  "Okay. First, let me look at the folder…",
])("is an announcement: %s", (text) => {
  expect(isAnnouncement(text, turnRecord(), tools)).toBe(true);
});

test.each([
  "",
  "The code word is HERON-58.",
  "You're welcome! Let me know if you need anything else.",
  "Which file do you mean? I need to know its name.",
  "Shall I read the file?",
  "I will recall that.",
  "def read_file(path):\n    return open(path).read()",
  "I can do this:\n- `read_file`: reads a file\n- `recall`: finds notes",
  "I could use read_file to look into it, if you want that.",
  "I can use read_file, or make a new list. Which one do you want?",
  "I checked the folder. It is empty.",
  "I need to read the file, but it does not exist. Where is it?",
  "Let me be clear: the lamp costs 52 euros.",
  `I will read it. ${"It has a lot of lines. ".repeat(100)}`,
])("is an answer: %s", (text) => {
  expect(isAnnouncement(text, turnRecord(), tools)).toBe(false);
});

test("a person who names a tool may get an answer about it", () => {
  const turn = turnRecord({ messages: [inboundMessage({ text: "What does read_file do?" })] });
  expect(isAnnouncement("The tool read_file returns a file's text.", turn, tools)).toBe(false);
});

describe("a turn", () => {
  useDoubles();

  test("a model that announces a call is asked once more, and people read only its answer", async () => {
    const { turn } = await run({ tools, steps: [says(announcement), readIt, says("There are 473.")] });
    expect([shown(), doubles.ran.length]).toEqual(["There are 473.", 1]);
    expect(turn.steps).toHaveLength(3);
  });

  test("a model that is asked once more and calls nothing has both its texts shown", async () => {
    await run({ tools, steps: [says(announcement), says(`Again: ${announcement}`)] });
    expect([shown(), doubles.provider.requests.length]).toEqual([`${announcement}\n\nAgain: ${announcement}`, 2]);
  });

  test("an announcement is the answer if the model has nothing to add", async () => {
    const { end } = await run({
      tools,
      steps: [says(announcement), fails("provider.empty", "m gave an empty answer")],
    });
    expect([end, shown()]).toEqual(["done", announcement]);
  });

  test("a model that has called a tool is not asked again about what it says of it", async () => {
    await run({ tools, steps: [readIt, says("I used read_file. Let me look no further.")] });
    expect(doubles.provider.requests).toHaveLength(2);
  });

  test("a model that has only loaded a skill is asked once more", async () => {
    const load = calls({ name: "load_skill", input: { name: "files" } });
    await run({
      tools: [...tools, toolSpec("load_skill")],
      steps: [load, says(announcement), readIt, says("There are 473.")],
    });
    expect([shown(), doubles.provider.requests.length]).toEqual(["There are 473.", 4]);
  });

  test("a sentence that a model repeats before each of its calls is shown once", async () => {
    const look = calls({ name: "recall", text: "I look." });
    await run({ tools, steps: [look, look, says("There are 473.")] });
    expect(shown()).toBe("I look.\n\nThere are 473.");
  });

  test("a model that may not call any more is not asked again", async () => {
    await run({ tools, steps: [readIt, says("I will use recall and look_up now.")], limits: { steps: 1 } });
    expect(doubles.provider.requests).toHaveLength(2);
  });

  test("words before a call are the answer if the model has nothing to say of its result", async () => {
    const said = calls({ name: "recall", input: { text: "stock" }, text: "There are 473, as noted." });
    const { end, turn } = await run({ tools, steps: [said, fails("provider.empty", "m gave an empty answer")] });
    expect([end, shown()]).toEqual(["done", "There are 473, as noted."]);
    expect(turn.failure).toBeUndefined();
  });

  test("a model without a word says nothing of a result, which people are told", async () => {
    const { end } = await run({ tools, steps: [readIt, fails("provider.empty", "m gave an empty answer")] });
    expect(end).toBe("failed");
  });
});
