/** The ports, their suites, several processes, and what is around the agent. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect } from "vitest";
import type { Section } from "./requirement.ts";

const root = resolve(import.meta.dirname, "../..");
const textOf = (path: string) => readFileSync(resolve(root, path), "utf8");
const manifest = () => JSON.parse(textOf("package.json")) as { [key: string]: Record<string, string> };
const recovering = "engine/conversations-recovering.test.ts";

/** The suite of each port, and the tests that run it. */
const suites = {
  platform: ["platforms/discord/conformance", "platforms/slack/platform", "platforms/local/platform"],
  provider: ["providers/conformance"],
  queue: ["tool-queue/embedded-queue", "tool-queue/bull-conformance"],
  ledger: ["storage/sqlite-ledger", "storage/redis-ledger"],
  store: ["storage/keyv-store", "storage/redis-store"],
  cluster: ["storage/in-memory-cluster", "storage/redis-cluster"],
  memory: ["memory/memory"],
};

export const ports: Section = {
  title: "ports and processes",
  requirements: [
    {
      says: "each port has one suite, and every implementation passes it",
      check() {
        for (const [port, files] of Object.entries(suites))
          for (const file of files) expect(textOf(`test/${file}.test.ts`)).toContain(`conformance/${port}.ts`);
      },
    },
    {
      says: "the ports have the specification's names and fields",
      check() {
        const message = textOf("src/ports/message.ts");
        for (const field of [
          "id",
          "platform",
          "conversationId",
          "scope",
          "author",
          "text",
          "isAddressed",
          "isDirect",
          "at",
        ])
          expect(message).toMatch(new RegExp(`^  ${field}\\??:`, "m"));
        for (const [file, name] of [
          ["platform", "PlatformHandlers"],
          ["platform", "Reply"],
          ["message", "ReplyTarget"],
          ["provider", "ModelEvent"],
          ["tool", "ToolQueue"],
          ["tool", "ToolResult"],
          ["ledger", "Ledger"],
          ["store", "Store"],
          ["turn", "TurnRecord"],
        ] as const)
          expect(textOf(`src/ports/${file}.ts`)).toMatch(new RegExp(`(?:interface|type) ${name}\\b`));
      },
      differs: "Names",
    },
    {
      says: "on one machine nothing else must be installed: SQLite for the ledger, the store and the queue",
      shownBy: [
        ["storage/sqlite-ledger.test.ts", "works in memory"],
        ["storage/keyv-store.test.ts", "works in memory"],
      ],
    },
    {
      says: "with Redis, a process can only take messages, and another one answers them",
      shownBy: [
        [recovering, "a process that runs no turns stores messages, and another one answers them"],
        [
          recovering,
          "each conversation runs in one process at a time, in order, and conversations are spread over processes",
        ],
      ],
    },
    {
      says: "when a process dies, another one goes on with its turns",
      shownBy: [[recovering, "a turn whose process died continues in another one once its lease has expired"]],
    },
    {
      says: "Node runs the TypeScript as it is, and `npm start` brings the right Node",
      check() {
        const { engines, optionalDependencies, scripts } = manifest();
        expect(engines?.node).toBe(">=24");
        expect(optionalDependencies?.node).toMatch(/^24\./);
        expect(scripts?.start).not.toMatch(/build|tsc/);
      },
      differs: "Node 24",
    },
    {
      says: "the package has what it needs, and its command runs",
      shownBy: [["cli/package.test.ts", "the package has what it needs and nothing private, and its command runs"]],
    },
    {
      says: "health, readiness and metrics are answered on the local port",
      shownBy: [["web/server.test.ts", "health, readiness and metrics are answered without a token"]],
    },
    {
      says: "the demo model answers without a key or a network, and says the same to the same",
      shownBy: [["providers/demo.test.ts", "says the same to the same"]],
    },
    {
      says: "the local page has channels, threads, direct messages and several people",
      shownBy: [
        ["platforms/local/api.test.ts", "a message, a thread and a DM are all there after a restart"],
        ["platforms/local/api.test.ts", "people are added by name, and an id is made that rules can carry"],
      ],
    },
    {
      says: "`remora gate test` says what the gate decides about calls",
      shownBy: [["e2e/commands.test.ts", "answers each line in order, even an invalid one, and then exits with 1"]],
    },
    {
      says: "the figures are benchmarks, each in a file of its own",
      check() {
        for (const name of ["run", "discord", "slack", "context", "gate", "queue", "process-usage", "recall", "skills"])
          expect(existsSync(resolve(root, `bench/${name}.ts`))).toBe(true);
      },
    },
  ],
};
