/** The safety gate. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import type { GateRule } from "../../src/ports/gate.ts";
import type { Section } from "./requirement.ts";

const source = resolve(import.meta.dirname, "../../src/gate");
const gate = "gate/gate.test.ts";
const properties = "gate/gate-properties.test.ts";

/** The specification's own patterns, and a call for each. */
const blocked = ["rm -rf /", "sudo rm x", "chmod 777 x", "mkfs.ext4 /dev/sda", "dd if=/dev/zero of=x"];
const asked = ["npm install left-pad", "git push", "docker rm box", "pip install requests"];
const rule = (kind: GateRule["kind"], pattern: string): GateRule => ({
  kind,
  pattern,
  skill: "shell",
  file: "",
  line: 1,
});
const examples = [
  ...["rm\\s+-rf", "sudo\\s+rm", "chmod\\s+777", "mkfs", "dd\\s+if="].map((pattern) => rule("danger", pattern)),
  ...["npm\\s+install", "git\\s+push", "docker\\s+rm", "pip\\s+install"].map((pattern) => rule("confirm", pattern)),
];

export const gateSection: Section = {
  title: "gate",
  requirements: [
    {
      says: "patterns come only from SKILL.md files; the gate's code has none",
      check() {
        const texts = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
        for (const file of texts)
          expect(readFileSync(join(source, file), "utf8")).not.toMatch(/danger_patterns|confirm_patterns/);
        const classify = createGate({
          rules: { rules: [], shellParameters: new Map() },
          matching: "extended",
        }).classify;
        for (const command of blocked) expect(classify("shell_exec", { command }).class).toBe("safe");
      },
    },
    {
      says: "the specification's own examples block and ask, with exact and with extended matching",
      check() {
        for (const matching of ["exact", "extended"] as const) {
          const { classify } = createGate({ rules: { rules: examples, shellParameters: new Map() }, matching });
          for (const command of blocked)
            expect([command, classify("shell_exec", { command }).class]).toEqual([command, "block"]);
          for (const command of asked)
            expect([command, classify("shell_exec", { command }).class]).toEqual([command, "confirm"]);
          expect(classify("shell_exec", { command: "ls -la" }).class).toBe("safe");
        }
      },
      shownBy: [
        [
          "gate/gate-tables.test.ts",
          "of the harmless commands only the specification's examples ask or are blocked by the shipped skills",
        ],
      ],
    },
    {
      says: "the match string is exactly tool, a space, and the arguments as JSON",
      shownBy: [[gate, "is the tool's name, a blank and the arguments as JSON"]],
    },
    {
      says: "block beats confirm beats safe, over all patterns of all skills",
      shownBy: [[gate, "block beats confirm beats safe, in whatever order the rules stand"]],
    },
    {
      says: "patterns of every loaded skill apply to every tool",
      shownBy: [
        [gate, "patterns of any skill apply to every tool"],
        [
          "skill-runtime/built-in-tools.test.ts",
          "these are all: every other tool is matched, also one that says it only reads",
        ],
      ],
      differs: "Built-in read-only tools",
    },
    {
      says: "a pattern is a string or { pattern, reason }, and people read the reason",
      shownBy: [
        [
          "skill-runtime/parse-skill.test.ts",
          "each pattern has its kind, its reason and its line, whatever its level says",
        ],
        [
          "approvals/approvals.test.ts",
          "a row says why it asks, for which skill, and in which form the call was found",
        ],
      ],
    },
    {
      says: "matching does not depend on case",
      shownBy: [[gate, "is matched in any case"]],
    },
    {
      says: "derived forms of a call can only make the verdict stricter",
      shownBy: [[properties, "the second look never lowers the verdict of the exact string"]],
      differs: "A second check",
    },
    {
      says: "with `safety.matching: exact`, only the exact string counts",
      shownBy: [[gate, "is all that counts in exact mode: no form, no tag"]],
    },
    {
      says: "no arguments make the gate throw, and what can't be judged is blocked",
      shownBy: [[properties, "any value at all gets a verdict, and the same one twice"]],
    },
    {
      says: "no pattern can hang the gate; what can't be checked in time asks",
      shownBy: [
        ["gate/gate-deadline.test.ts", "asks a person"],
        ["gate/gate-limits.test.ts", "holds up no other pattern"],
      ],
    },
    {
      says: "an invalid pattern counts as literal text and is reported, never dropped silently",
      shownBy: [[gate, "an invalid one is matched as the text that it is, and reported"]],
    },
    {
      says: "exactly the arguments that were judged are shown, hashed and run",
      shownBy: [[gate, "ask toJSON and getters once, so that what is judged is what runs"]],
    },
    {
      says: "removing a skill removes its patterns, and a change counts at the next call",
      shownBy: [
        [gate, "puts new ones in force and takes old ones out, whole"],
        ["skill-runtime/library.test.ts", "a changed, an added and a removed skill are in force without a restart"],
      ],
    },
    {
      says: "a blocked call never runs and can't be approved; the model reads which skill blocked it",
      shownBy: [
        [
          "engine/run-turn-calls.test.ts",
          "blocks: the call does not run, and the model reads that it was blocked and by which skill",
        ],
      ],
    },
    {
      says: "three refusals in a turn end its tool steps",
      shownBy: [["engine/run-turn-calls.test.ts", "takes the tools away after three refusals in a turn"]],
    },
    {
      says: "commands that only look run unasked",
      shownBy: [
        ["e2e/main-job.test.ts", "reading neither asks nor reports changes"],
        ["sandbox/view/isolation.test.ts", "is not reached: no TCP, no UDP, no socket of a service"],
      ],
      differs: "Effects instead of proofs",
    },
    {
      says: "without a sandbox, every command asks, and only owners may approve",
      shownBy: [
        [
          "approvals/who-may-answer.test.ts",
          "tools without their sandbox can be answered by owners only, whoever else is listed",
        ],
      ],
    },
    {
      says: "the working folder belongs to the conversation, and file tools never leave it",
      shownBy: [
        ["lib/working-folder.test.ts", "a path or link that leads out is refused, whatever is done there"],
        ["skills-shipped/skill-files.test.ts", "a relative path, or one of the working folder, never means a skill"],
      ],
      differs: "Files of skills",
    },
  ],
};
