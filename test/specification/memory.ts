/** The prompt, and what is remembered. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect } from "vitest";
import type { Section } from "./requirement.ts";

const assemble = "context/assemble.test.ts";
const budget = "context/budget.test.ts";
const snapshot = "context/snapshot.test.ts";
const memory = "memory/memory.test.ts";
const port = "conformance/memory.ts";
const search = "memory/search.test.ts";
const settings = readFileSync(resolve(import.meta.dirname, "../../docs/configuration.md"), "utf8");

export const memorySection: Section = {
  title: "context and memory",
  requirements: [
    {
      says: "the prompt has its sections in order, with the volatile ones last",
      shownBy: [
        [assemble, "has its sections in order, and the person's words at the end"],
        [assemble, "is the same bytes in every turn and step of a conversation"],
      ],
    },
    {
      says: "the budget's shares are 15, 10, 30, 20 and 25 percent",
      check() {
        for (const [section, share] of Object.entries({
          identity: 15,
          prefrontal: 10,
          memory: 30,
          skills: 20,
          history: 25,
        }))
          expect(settings).toContain(`| \`context.shares.${section}\` | \`${share}\` |`);
      },
      shownBy: [[budget, "keeps a section within its share, however much it could use"]],
    },
    {
      says: "unused share goes to history",
      shownBy: [[budget, "gives what others do not use to history"]],
    },
    {
      says: "the last exchange is never trimmed",
      shownBy: [
        [
          "context/history.test.ts",
          "never trims the last exchange, even alone over the budget, and drops older ones whole",
        ],
      ],
    },
    {
      says: "the prompt never exceeds its budget, except by mandatory parts",
      shownBy: [
        [budget, "is never exceeded, except by what is mandatory"],
        [assemble, "never passes the budget by anything but mandatory parts, whatever comes together"],
      ],
    },
    {
      says: "token estimates are within 15 percent of a tokenizer, also for Chinese and Arabic",
      shownBy: [["context/tokens.test.ts", "is within 15 percent of a real tokenizer on %s"]],
    },
    {
      says: "text of files, tools, memory and people is fenced, and can't close its fence",
      shownBy: [
        ["context/fence.test.ts", "can't be closed or opened by any text inside it"],
        [assemble, "tells people apart, and nobody can speak as another"],
      ],
    },
    {
      says: "every model call writes a snapshot of what was sent, the budget and every candidate's score",
      shownBy: [
        [snapshot, "holds every word that was sent, the tools, the model, the budget and every candidate's score"],
      ],
    },
    {
      says: "the snapshot lists what was left out and why",
      shownBy: [
        [snapshot, "says what was left out and why"],
        [assemble, "takes every triggered skill that the share has room for, and says what was left out and why"],
      ],
    },
    {
      says: "snapshots are redacted, and the newest 50 stay",
      shownBy: [
        [snapshot, "shows no secrets, wherever they stand"],
        [snapshot, "is for its owner's eyes, and only the newest fifty stay"],
      ],
    },
    {
      says: "`remora explain` finds the snapshots of a turn",
      shownBy: [[snapshot, "finds its snapshots by id or by the beginning of it, in order"]],
    },
    {
      says: "with 20 skills and a one-word message, the prompt is at most 6 KB",
      shownBy: [[assemble, "of the shipped files with twenty skills and a one-word message is at most 6 KB"]],
    },
    {
      says: "each turn is an episode in Markdown, failures included",
      shownBy: [
        [memory, "is Markdown that tells who asked what, what was done, and what came of it"],
        [memory, "of a turn that failed says so"],
      ],
    },
    {
      says: "feedback has a line per tool call and per decision, with who decided",
      shownBy: [[memory, "is one line a call or decision, with who"]],
    },
    {
      says: "a turn without tools leaves its outcome in today's feedback file",
      shownBy: [
        [
          "engine/run-turn-calls.test.ts",
          "a turn without tools leaves its outcome as feedback, once, and without words of anybody",
        ],
        [memory, "of a turn without tools is a line for people: not in the preference history, and not found"],
      ],
    },
    {
      says: "the model sees past decisions as a digest",
      shownBy: [[port, "the digest says what was decided and what failed, and never grows beyond 2,400 characters"]],
    },
    {
      says: "the search index is disposable and made from the Markdown",
      shownBy: [
        [search, "is made again when it is damaged, of another version, or gone"],
        [search, "are followed as they are changed, renamed and deleted, in the same process and over restarts"],
      ],
    },
    {
      says: "a query sees its own scope and the shared one, and a DM never leaks",
      shownBy: [
        [port, "messages of a DM are found only in that DM, even after a restart"],
        [assemble, "asks memory for the newest message, in the conversation's scope and the shared one only"],
        ["e2e/main-job.test.ts", "messages of a DM are in nobody else's prompt"],
      ],
    },
    {
      says: "people can forget, export and age out what is remembered",
      shownBy: [
        [
          "memory/ownership.test.ts",
          "removes their DM, their turns and their decisions, from the files, the search and the index",
        ],
        ["memory/ownership.test.ts", "of a person has their own scope whole, and of channels their part alone"],
        [
          "memory/consolidate.test.ts",
          "day files older than the retention go; younger ones, knowledge and files of other names stay",
        ],
      ],
    },
    {
      says: "memory is written whole or not at all, and in order per path",
      shownBy: [
        [port, "turns saved at the same time are all kept"],
        [memory, "that can't be written rejects with what to do, and leaves nothing behind"],
      ],
    },
    {
      says: "secrets reach no memory, snapshot, task file or result",
      shownBy: [
        [memory, "holds no secret"],
        ["tool-queue/task-file.test.ts", "carries no secret, wherever it stood"],
        ["lib/redact.test.ts", "no text keeps a configured secret, wherever it stands"],
      ],
    },
  ],
};
