/** What a screen reader calls each kind of card. */
import { expect, test } from "vitest";
import type { CardItem, ShownChanges } from "../../../src/ports/card.ts";
import type { ReplyTarget } from "../../../src/ports/message.ts";
import { viewOf } from "./card-in-page.ts";

const changes: ShownChanges = {
  title: "Working folder: 1 file added",
  summary: "",
  files: [{ path: "made.txt", action: "added", detail: "4 B" }],
  moreFiles: 0,
  commands: [],
  labels: { approve: "Approve", deny: "Deny" },
};

const target: ReplyTarget = {
  platform: "local",
  conversationId: "channel:general",
  turnId: "turn-1",
  messageId: "message-1",
};

const call: CardItem = {
  approvalId: "approval-1",
  tool: "shell_exec",
  headline: "Run `ls`",
  callText: "{}",
  why: [],
  times: 1,
  state: "open",
  choices: ["approve", "deny"],
};

function nameOf(...items: Partial<CardItem>[]): string | null {
  const card = {
    id: "card-1",
    target,
    requesterName: "Ann",
    approversText: "Ann",
    expiresAt: null,
    items: items.map((item, index) => ({ ...call, approvalId: `approval-${index}`, ...item })),
  };
  return viewOf({ id: "message-1", card }).name;
}

test.each<[string, Partial<CardItem>[]]>([
  ["Approval needed", [{}]],
  ["2 actions need approval", [{}, {}]],
  ["Approved request", [{ state: "approved" }]],
  ["Approved request", [{ state: "consumed" }]],
  ["Denied request", [{ state: "denied" }]],
  ["Expired request", [{ state: "expired" }]],
  ["Cancelled request", [{ state: "cancelled" }]],
  ["Approved requests", [{ state: "consumed" }, { state: "approved" }]],
  ["Answered requests", [{ state: "consumed" }, { state: "denied" }]],
  ["Changes", [{ state: "consumed", changes }]],
])("%s: %j", (name, items) => {
  expect(nameOf(...items)).toBe(name);
});
