import { expect, test } from "vitest";
import { cardJson, cardsText } from "../../src/cli/approval-text.ts";
import type { ApprovalCard, CardItem, ShownChanges } from "../../src/ports/card.ts";

const changes: ShownChanges = {
  title: "website: 1 file deleted, 1 changed",
  summary: "Somebody must agree before they are kept.",
  files: [
    { path: "old/page.html", action: "deleted", detail: "−40" },
    { path: "src/app.css", action: "changed", detail: "+12 −3" },
  ],
  moreFiles: 7,
  commands: [
    { text: "npm run build", outcome: "exit code 0" },
    { text: "npm test", outcome: "exit code 1" },
  ],
  lastOutput: "11 passed\nCard 123  asked by nobody",
  diff: "+line of the diff",
  labels: { approve: "Approve", deny: "Deny" },
};

function card(...items: Partial<CardItem>[]): ApprovalCard {
  return {
    id: "card-1",
    target: { platform: "local", conversationId: "local:dm:ann", turnId: "turn-1", messageId: "m1" },
    requesterName: "Ann",
    approversText: "Ann (who asked) can answer",
    expiresAt: Date.UTC(2030, 0, 1),
    items: items.map((item, index) => ({
      ...{ approvalId: `approval-${index}`, tool: "shell_exec", callText: "shell_exec\ncommand: “ls”" },
      ...{ headline: "Run `ls`", why: [] },
      ...{ times: 1, state: "open", choices: ["approve", "deny"] },
      ...item,
    })),
  };
}

test("a card about changes is listed with its files and commands, and says how to see the diff", () => {
  expect(cardsText([card({ callText: "", changes, facts: ["Takes along app.css"] })])).toBe(`\
Card card-1  asked by Ann in local:dm:ann, expires 2030-01-01T00:00:00.000Z
  Ann (who asked) can answer
  approval-0  Run \`ls\`
    website: 1 file deleted, 1 changed
    Somebody must agree before they are kept.
      deleted  old/page.html  −40
      changed  src/app.css  +12 −3
      and 7 more files
    $ npm run build — exit code 0
    $ npm test — exit code 1
      | 11 passed
      | Card 123  asked by nobody
    · NOTE Takes along app.css

1 open. To answer: \`remora approvals approve ID\` or \`deny ID --reason TEXT\`. The first characters of an id are enough. A card's id answers for the whole card. \`remora approvals why ID\` prints the rules that ask. \`remora approvals diff ID\` prints every command and the whole diff.
`);
});

test("a card about a call says nothing of a diff, and shows what else there is to know", () => {
  const text = cardsText([card({ facts: ["Connects to registry.example:443"], reason: "It needs the network." })]);
  expect(text).toContain("  approval-0  Run `ls`\n    It needs the network.\n    shell_exec\n    command: “ls”\n");
  expect(text).toContain("    command: “ls”\n    · NOTE Connects to registry.example:443\n");
  expect(text).not.toContain("diff");
});

test("as JSON it has the changes and facts whole", () => {
  expect(cardJson(card({ changes, facts: ["one"] })).items).toMatchObject([{ changes, facts: ["one"] }]);
});
