/** Approvals on a real ledger, with a clock that the test turns and a gate whose rules the test may change. */
import { createApprovals } from "../../src/approvals/approvals.ts";
import type { ApprovalsOptions } from "../../src/approvals/context.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createMasker } from "../../src/lib/redact.ts";
import type { ApprovalRequest } from "../../src/ports/approval.ts";
import type { ApprovalCard } from "../../src/ports/card.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { Gate, GateMatch } from "../../src/ports/gate.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Feedback } from "../../src/ports/memory.ts";
import type { Author, InboundAnswer, JsonObject, ReplyTarget } from "../../src/ports/message.ts";
import type { ToolCall } from "../../src/ports/tool.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createRecordedAudit } from "../doubles/audit.ts";

export const folder = "/files/dm_ann";
export const conversationId = "test:C1";
export const hour = 60 * 60 * 1000;

export function person(id: string, changes: Partial<Author> = {}): Author {
  return { id, name: `${id.charAt(0).toUpperCase()}${id.slice(1)}`, isBot: false, roles: [], ...changes };
}
export const ann = person("ann");
export const ben = person("ben");

export const asks: GateMatch = {
  kind: "confirm",
  skill: "shell",
  file: "/skills/shell/SKILL.md",
  line: 12,
  pattern: "rm ",
  reason: "removes files",
  form: "exact",
};

export function call(id: string, input: JsonObject = { command: "rm notes.txt" }, name = "shell_exec"): ToolCall {
  return { id, name, input };
}

export function target(turnId: string, changes: Partial<ReplyTarget> = {}): ReplyTarget {
  return { platform: "test", conversationId, turnId, messageId: `message-${turnId}`, ...changes };
}

export function request(turnId: string, calls: ToolCall[], changes: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    turnId,
    target: target(turnId),
    scope: "dm:ann",
    requester: ann,
    workingFolder: folder,
    calls: calls.map((one) => ({ call: one, matches: [asks] })),
    ...changes,
  };
}

export function click(id: string, changes: Partial<InboundAnswer> = {}): InboundAnswer {
  return { platform: "test", conversationId, cardOrApprovalId: id, choice: "approve", by: ann, at: 0, ...changes };
}

/** What the double of the gate blocks and asks about; the test may change it at any time. */
interface Rules {
  block: RegExp;
  confirm: RegExp;
}

/** `changes` win over what is set up here; the same `ledger` again is a restart or a second process. */
export function setUp(
  changes: Partial<ApprovalsOptions> = {},
  ledger: Ledger = createSqliteLedger({ path: ":memory:" }),
) {
  const clock = { now: 1_700_000_000_000 };
  const rules: Rules = { block: /mkfs/, confirm: /rm / };
  const woken: string[] = [];
  const shown: ApprovalCard[] = [];
  const heard: RemoraEvent[] = [];
  const remembered: Feedback[] = [];
  const events = createEvents();
  events.listen((event) => heard.push(event));
  const audit = createRecordedAudit();
  const approvals = createApprovals({
    ledger,
    events,
    audit,
    gate: gateOf(rules),
    policy: {},
    wake: (turnId) => woken.push(turnId),
    onSettled: async (card) => {
      shown.push(card);
    },
    remember: async (feedback) => {
      remembered.push(feedback);
    },
    mask: createMasker([{ name: "VAULT_KEY", value: "hunter2secret" }]),
    log: silentLog,
    now: () => clock.now,
    ...changes,
  });

  return {
    approvals,
    ledger,
    clock,
    rules,
    woken,
    shown,
    heard,
    remembered,
    audit,
    names: () => heard.map((event) => event.name),
    /** Opens one card for one call of a turn and returns both ids. */
    async ask(turnId = "t1", one: ToolCall = call("c1"), more: Partial<ApprovalRequest> = {}) {
      const { card, approvalIds } = await approvals.open(request(turnId, [one], more));
      return { cardId: card.id, approvalId: approvalIds[0] ?? "", card };
    },
    async stateOf(approvalId: string) {
      return (await ledger.get("approval", approvalId))?.state;
    },
  };
}

function gateOf(rules: Rules): Gate {
  return {
    classify(tool, args) {
      const argsJson = JSON.stringify(args);
      const text = `${tool} ${argsJson}`;
      const kind = rules.block.test(text) ? "danger" : rules.confirm.test(text) ? "confirm" : undefined;
      const matches = kind === undefined ? [] : [{ ...asks, kind } as const];
      const verdict = kind === "danger" ? "block" : kind === "confirm" ? "confirm" : "safe";
      return { class: verdict, matches, tags: [], input: JSON.parse(argsJson) as JsonObject, argsJson };
    },
  };
}
