/** The path of a message, conversations and turns. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import type { Section } from "./requirement.ts";

const source = resolve(import.meta.dirname, "../../src");
const run = "engine/run-turn.test.ts";
const runCalls = "engine/run-turn-calls.test.ts";
const conversations = "engine/conversations.test.ts";
const stopping = "engine/conversations-stopping.test.ts";
const recovering = "engine/conversations-recovering.test.ts";

export const pipeline: Section = {
  title: "pipeline",
  requirements: [
    {
      says: "the model is called once per step, and nothing else calls one for routing, verdicts or context",
      check() {
        const callers = readdirSync(source, { recursive: true, encoding: "utf8" })
          .filter((file) => file.endsWith(".ts"))
          .filter((file) => /\bprovider\.stream\(|\breadModel\(/.test(readFileSync(join(source, file), "utf8")));
        expect(callers.map((file) => file.split("/")[0])).not.toContain("gate");
        expect(callers.map((file) => file.split("/")[0])).not.toContain("skill-runtime");
      },
      shownBy: [[run, "is shown, remembered, and ends the turn"]],
      differs: "Summaries of long conversations",
    },
    {
      says: "tool calls run in the model's order, and their results go back to the model",
      shownBy: [[runCalls, "run in the model's order, and the model reads their results"]],
    },
    {
      says: "after at most 8 steps with tools, one last call without tools gives an answer",
      shownBy: [[runCalls, "may not be made after eight steps, so that there is always an answer"]],
    },
    {
      says: "wrong arguments and unknown tools go back to the model as errors, and never run as {}",
      shownBy: [
        [runCalls, "with malformed arguments or unknown names never run; the model reads why"],
        ["response/parse.test.ts", "that breaks its schema is told every argument that is wrong, and what it takes"],
      ],
    },
    {
      says: "read-only calls of one step run in parallel",
      shownBy: [[runCalls, "that only read run side by side; one that acts waits for those before it"]],
    },
    {
      says: "every brain part has an owner file that names it, and the README has the table",
      shownBy: [
        ["brain-map.test.ts", "the table has every part of the brain once"],
        ["brain-map.test.ts", "$name lives in $file, which says so in its header"],
      ],
    },
    {
      says: "imports go one way, without circles, barrels and skills that reach into the source",
      shownBy: [
        ["architecture.test.ts", "%s imports its own top folder, ports, lib, node and packages only"],
        ["architecture.test.ts", "no file imports itself by way of others, not even for a type"],
        ["architecture.test.ts", "there are no barrels"],
        ["architecture.test.ts", "skills import the plugin SDK and their own folder only"],
      ],
    },
    {
      says: "a conversation runs one turn at a time, and conversations run in parallel under a limit",
      shownBy: [
        [conversations, "turns of one conversation never overlap, and no more turns than the limit run at once"],
      ],
    },
    {
      says: "messages during a turn are kept and become the next turn, in order",
      shownBy: [
        [conversations, "messages that arrive during a turn are merged into the next one, in order"],
        [
          conversations,
          "messages of several people become a turn for each person, in order, so that nobody's rights count for another's request",
        ],
      ],
      differs: "Turns of several people",
    },
    {
      says: "`steer` hands a message to the running turn, `interrupt` ends that turn",
      shownBy: [
        [conversations, "steer gives messages that arrive during a turn to that turn, once"],
        [conversations, "interrupt ends the running turn in favour of the newer message"],
      ],
    },
    {
      says: "the same message twice makes one turn",
      shownBy: [[conversations, "the same message twice makes one turn"]],
    },
    {
      says: "a turn that waits for a person is parked, and its conversation goes on",
      shownBy: [[conversations, "a parked turn does not hold up its conversation, and an answer resumes it"]],
    },
    {
      says: "after a crash, running turns go on from their journal and nothing runs twice",
      shownBy: [[recovering, "running turns continue, queued messages become turns, and nothing runs twice"]],
    },
    {
      says: "a stop aborts the turn and its approvals at once",
      shownBy: [
        [stopping, "ends the running and the parked turns of this conversation only"],
        [stopping, "a parked turn loses its approvals at once and ends as stopped; its messages count as answered"],
      ],
    },
    {
      says: "an edited message counts while it is queued, and a deleted one never runs",
      shownBy: [[stopping, "change queued messages; a deleted message never runs"]],
    },
    {
      says: "text is streamed as it arrives, and the answer is one message that grows",
      shownBy: [
        ["conformance/platform.ts", "the first words appear before the end"],
        ["conformance/platform.ts", "a growing segment stays one message"],
      ],
    },
    {
      says: "the parser normalises text and tool calls, however they are cut into pieces",
      shownBy: [["response/parse.test.ts", "is the same however it is cut into pieces, and always well-formed"]],
    },
    {
      says: "every call gets an id that is unique in its turn",
      shownBy: [["response/parse.test.ts", "is made unique in the answer and in the turn"]],
    },
    {
      says: "a failure of the model or of our own code is a visible answer",
      shownBy: [
        [run, "of the model are visible, with what was said before"],
        [run, "the turn ends as failed, below what was said, with what to do; nothing of it can be approved any more"],
      ],
    },
  ],
};
