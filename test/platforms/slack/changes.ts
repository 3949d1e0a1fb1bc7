/** Cards about changes, for tests. */
import type { ApprovalCard, CardItem, ShownChange, ShownChanges } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createCard } from "../../conformance/platform-world.ts";

export function shownChanges(more: Partial<ShownChanges> = {}): ShownChanges {
  return {
    title: "website: 1 file deleted, 1 changed, 1 added",
    summary: "The folder /srv/website is not the conversation's own.",
    files: [
      { path: "old.html", action: "deleted", detail: "" },
      { path: "src/app.ts", action: "changed", detail: "+12 −3" },
      { path: "logo.png", action: "added", detail: "14 kB" },
    ],
    moreFiles: 0,
    commands: [{ text: "npm test", outcome: "exit code 0" }],
    lastOutput: "12 passed",
    diff: "--- a/src/app.ts\n+++ b/src/app.ts\n-old\n+new",
    labels: { approve: "Approve", deny: "Deny" },
    ...more,
  };
}

/** Asks, unless `item` says otherwise. */
export function changeCard(
  message: InboundMessage,
  changes: Partial<ShownChanges> = {},
  item: Partial<CardItem> = {},
): ApprovalCard {
  return createCard(message, {
    tool: "",
    callText: "",
    headline: shownChanges(changes).headline ?? shownChanges(changes).title,
    why: [],
    choices: ["approve", "deny", "part", "diff"],
    changes: shownChanges(changes),
    ...item,
  });
}

export function manyFiles(count: number, more: Partial<ShownChange> = {}): ShownChange[] {
  return Array.from({ length: count }, (_, index) => ({
    path: `src/file-${index}.ts`,
    action: "changed" as const,
    detail: "+1 −1",
    ...more,
  }));
}
