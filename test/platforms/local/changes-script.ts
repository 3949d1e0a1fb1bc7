/**
 * A scripted agent whose turns change a folder. It speaks only through the port.
 *
 *   `change`   an answer, and below it a card that asks about the changes
 *   `keep`     an answer, and below it a card that reports what was kept
 *
 * A long diff is not in the card.
 */
import type { ApprovalCard, CardItem, ShownChanges } from "../../../src/ports/card.ts";
import type { AnswerReceipt, InboundAnswer, InboundMessage } from "../../../src/ports/message.ts";
import type { Platform, PlatformHandlers } from "../../../src/ports/platform.ts";
import { createPosts, targetOf } from "../../conformance/platform-world.ts";

export interface ChangingAgent {
  handlers: PlatformHandlers;
  answers: InboundAnswer[];
  /** What Show diff gives. */
  wholeDiff: string;
}

export function createChangingAgent(platform: () => Platform): ChangingAgent {
  const cards = new Map<string, { card: ApprovalCard; settle(item: Partial<CardItem>): Promise<void> }>();

  async function work(message: InboundMessage): Promise<void> {
    const posts = createPosts();
    const reply = platform().reply(targetOf(message), posts);
    await reply.finish("I have renamed the pages, and the **tests** pass.", []);
    let card = cardFor(message, agent.wholeDiff);
    const [item] = card.items;
    if (item === undefined) throw new TypeError("the card has no item");
    cards.set(item.approvalId, {
      get card() {
        return card;
      },
      async settle(change) {
        card = { ...card, items: [{ ...item, ...change }] };
        // A click can be quicker than the post's record.
        await asked;
        await platform().reply(targetOf(message), posts).settle(card);
      },
    });
    const asked = reply.ask(card);
    await asked;
  }

  async function answer(click: InboundAnswer): Promise<AnswerReceipt> {
    const found = cards.get(click.cardOrApprovalId);
    const { name } = click.by;
    if (found === undefined) return { accepted: false, text: "This card is not valid any more." };
    if (click.choice === "diff") {
      return { accepted: true, text: "The whole diff.", file: { name: "changes.diff", text: agent.wholeDiff } };
    }
    if (name !== found.card.requesterName) return { accepted: false, text: `Only Ann can answer this.` };
    const kept = { state: "consumed", choices: ["undo"] } as const;
    if (click.choice === "deny") await found.settle({ state: "denied", choices: [], outcome: `Denied by ${name}` });
    else if (click.choice === "undo") await found.settle({ ...kept, choices: [], outcome: `Undone by ${name}` });
    else if (click.choice === "part")
      await found.settle({ ...kept, choices: ["undo"], outcome: `${click.parts?.length} files kept by ${name}` });
    else await found.settle({ ...kept, choices: ["undo"], outcome: `Approved by ${name}` });
    return { accepted: true, text: "Noted." };
  }

  const agent: ChangingAgent = {
    answers: [],
    wholeDiff: shortDiff,
    handlers: {
      async onMessage(message) {
        if (message.isAddressed) queueMicrotask(() => void work(message));
        return undefined;
      },
      async onAnswer(click) {
        agent.answers.push(click);
        return await answer(click);
      },
      onFooter: async () => ({ accepted: false, text: "There are no footers here." }),
      onPick: async () => ({ accepted: false, text: "Nothing is asked here." }),
      onCommand: async () => ({ text: "No commands here.", isPrivate: true }),
      onEdited: async () => {},
      unanswered: async () => [],
      onDeleted: async () => {},
    },
  };
  return agent;
}

const shortDiff = `diff --git a/site/about.html b/site/about.html
deleted file mode 100644
--- a/site/about.html
+++ /dev/null
@@ -1,3 +0,0 @@
-<h1>About us</h1>
--- a line that begins with two dashes
-</html>
diff --git a/site/style.css b/site/style.css
--- a/site/style.css
+++ b/site/style.css
@@ -10,4 +10,5 @@ body {
   margin: 0;
-  color: #333;
+  color: light-dark(#17212b, #e4eaf0);
+++ a line that begins with two pluses
   font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
 }
\\ No newline at end of file`;

function changesFor(isLong: boolean): ShownChanges {
  return {
    title: "website: 2 files deleted, 2 changed, 2 added",
    summary: "These changes are in a shared folder. They are kept only after somebody approves them.",
    files: [
      { path: "site/about.html", action: "deleted", detail: "−3" },
      {
        path: "site/archive/2019/an-old-press-release-with-a-very-long-name-indeed.html",
        action: "deleted",
        detail: "−240",
      },
      { path: "site/style.css", action: "changed", detail: "+2 −1" },
      { path: "scripts/deploy.sh", action: "changed", detail: "now executable" },
      { path: "site/<b>team</b>.html", action: "added", detail: "+58" },
      { path: "site/logo.png", action: "added", detail: "14 kB" },
    ],
    moreFiles: isLong ? 1_204 : 0,
    commands: [
      {
        text: "sed -i 's/About us/Team/' site/*.html && git mv site/about.html site/team.html",
        outcome: "exit code 0",
      },
      { text: "npm test", outcome: "exit code 0" },
    ],
    lastOutput: "> website@1.0.0 test\n> node --test\n\nℹ tests 12\nℹ pass 12\nℹ fail 0",
    ...(isLong ? {} : { diff: shortDiff }),
    labels: { approve: "Approve", deny: "Deny" },
  };
}

function cardFor(message: InboundMessage, wholeDiff: string): ApprovalCard {
  const isReport = message.text.startsWith("keep");
  const asking: Partial<CardItem> = {
    ...{ state: "open", choices: ["approve", "deny", "part", "diff", "allow"] },
    facts: ["npm test connected to registry.example:443. What it did there can't be undone."],
    grantText: "changes to website that Ann asks for are kept for 30 minutes",
  };
  const reporting: Partial<CardItem> = { state: "consumed", choices: ["undo", "diff"], outcome: "Kept" };
  return {
    id: `card-${message.id}`,
    target: targetOf(message),
    requesterName: message.author.name,
    approversText: `${message.author.name} may answer`,
    expiresAt: Date.now() + 3_600_000,
    items: [
      {
        ...{
          approvalId: `approval-${message.id}`,
          tool: "changes",
          callText: "",
          headline: "Change files in website",
          why: [],
          times: 1,
        },
        ...{ state: "open", choices: [] },
        changes: changesFor(wholeDiff.length > 2_000),
        ...(isReport ? reporting : asking),
      },
    ],
  };
}
