/** The tool queue, retries, task files and durability. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect } from "vitest";
import type { Section } from "./requirement.ts";

const queue = "conformance/queue.ts";
const interruptions = "conformance/queue-interruptions.ts";
const retries = "skill-runtime/retries.test.ts";
const taskFile = "tool-queue/task-file.test.ts";
const settings = readFileSync(resolve(import.meta.dirname, "../../docs/configuration.md"), "utf8");

export const queueSection: Section = {
  title: "queue",
  requirements: [
    {
      says: "a call is retried up to three times, after 2 s, 6 s and 18 s",
      check: () => expect(settings).toContain("| `tools.retryMs` | `[2000,6000,18000]` |"),
      shownBy: [
        [queue, "that is temporary is retried after each wait, and is then the result"],
        ["config/documentation.test.ts", "%s is there, with its default"],
      ],
    },
    {
      says: "only failures that may pass are retried; answers are not",
      shownBy: [
        [queue, "that is an answer is not retried"],
        [retries, "$what: $plain, if idempotent: $idempotent"],
      ],
      differs: "What is retried",
    },
    {
      says: "a failure before the effect started is retried like a network error",
      shownBy: [
        [retries, "$what: $plain, if idempotent: $idempotent"],
        [retries, "names each case that is tried here, and no other"],
        ["e2e/skills-in-use.test.ts", "a plugin whose start failed is tried again, and its call runs once"],
      ],
    },
    {
      says: "any failure of an idempotent tool is retried",
      shownBy: [[queue, "of an idempotent tool is always retried"]],
    },
    {
      says: "a call that may have run and is not idempotent ends as interrupted, and never runs again",
      shownBy: [[interruptions, "while the tool ran leaves an unknown outcome, and the call never runs again"]],
    },
    {
      says: "an interrupted idempotent call runs again",
      shownBy: [[interruptions, "while an idempotent tool ran lets the next process run it again"]],
    },
    {
      says: "a call is started in the ledger before its plugin runs",
      shownBy: [[queue, "is started in the ledger before its tool runs, and done with its result afterwards"]],
    },
    {
      says: "a job requested twice runs once, and both get its result",
      shownBy: [
        [queue, "runs once and returns its result, even if the job is requested again later or elsewhere"],
        [interruptions, "run a non-idempotent tool at most once, and both get the same result"],
      ],
    },
    {
      says: "every tool has a timeout, by default 120 s",
      shownBy: [
        [interruptions, "stops the tool, and is a failure that states the limit"],
        [
          "skill-runtime/parse-skill.test.ts",
          "flags, timeout and shell parameters are read; the mark for shell parameters stays inside",
        ],
      ],
    },
    {
      says: "a long output is cut for the model, and all of it is in a file",
      shownBy: [[queue, "a long output is cut for the model and saved in full to a file"]],
    },
    {
      says: "the embedded queue and BullMQ pass the same suite",
      check() {
        const suites = ["embedded-queue", "bull-conformance"].map((name) =>
          readFileSync(resolve(import.meta.dirname, `../tool-queue/${name}.test.ts`), "utf8"),
        );
        for (const text of suites) expect(text).toContain("conformance/queue.ts");
      },
    },
    {
      says: "a turn with tools writes TASK-{id}.md with each step's arguments, start, duration, attempts and outcome",
      shownBy: [
        [taskFile, "shows task, status, and each step with arguments, start, duration, attempts, outcome and output"],
        [taskFile, "is not made for a turn without tools"],
      ],
    },
    {
      says: "blocked and denied steps are in the task file",
      shownBy: [[taskFile, "shows blocked, denied and invalid steps, and what waits, runs or never ran"]],
    },
    {
      says: "task files that still say RUNNING at the start are marked interrupted",
      shownBy: [[taskFile, "running task files are marked as interrupted, and no others"]],
    },
    {
      says: "every change of the ledger is a compare-and-set",
      shownBy: [
        ["conformance/ledger.ts", "exactly one of 100 concurrent transitions over two connections succeeds"],
        ["conformance/ledger.ts", "returns undefined and changes nothing from another state"],
      ],
    },
    {
      says: "what the ledger acknowledged survives kill -9",
      shownBy: [
        ["storage/sqlite-ledger.test.ts", "what a resolved promise said is there after kill -9, and the file is sound"],
      ],
    },
    {
      says: "a second process on the same data folder is refused",
      shownBy: [
        [
          "storage/data-lock.test.ts",
          "is refused while another process runs on it, saying which and what to do; free once that one is killed",
        ],
      ],
    },
  ],
};
