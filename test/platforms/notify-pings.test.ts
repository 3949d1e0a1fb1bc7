/**
 * Whatever a call, a name or a reason says, a card and its lines ping exactly the people and roles who are asked. Built by
 * the approvals and the real renderers; counted as the services count.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ApprovalRow, buildCard } from "../../src/approvals/card.ts";
import type { ApprovalsContext } from "../../src/approvals/context.ts";
import { expiryLine, failedCopyLine, reminderLine } from "../../src/approvals/notify/lines.ts";
import { withNotify } from "../../src/approvals/notify/shown.ts";
import { cardMessages as discordMessages } from "../../src/platforms/discord/outbound/cards/card.ts";
import { noteMessage as discordNote } from "../../src/platforms/discord/outbound/cards/mention-line.ts";
import type { OutgoingMessage } from "../../src/platforms/discord/outbound/messages.ts";
import { cardMessages as slackMessages } from "../../src/platforms/slack/outbound/cards/card.ts";
import { noteMessage as slackNote } from "../../src/platforms/slack/outbound/cards/mention-line.ts";
import type { MessageContent } from "../../src/platforms/slack/outbound/render.ts";
import type { CardRecord } from "../../src/ports/approval.ts";
import type { NotePart } from "../../src/ports/card.ts";
import { asks, person } from "../approvals/approvals-fixture.ts";
import { effectsOf } from "../doubles/slack/markup.ts";
import type { StoredMessage } from "../doubles/slack/state.ts";
import { runs } from "../faults/share.ts";

const lures = [
  ...["<!channel>", "<!here|here>", "<!everyone>", "<@U0EVE>", "<@U0EVE|Eve>", "<!subteam^S0EVE>", "<#C0EVE>"],
  ...["@everyone", "@here", "<@111111111111111111>", "<@!111111111111111111>", "<@&222222222222222222>"],
  ...["`", "```", "\n", "\u202e", "&lt;@U0EVE&gt;", "\\", "|", "<", ">", "@", "{channel}", " ", "https://a.b/<@U0EVE>"],
];
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...lures), fc.string({ unit: "grapheme", maxLength: 8 })), { maxLength: 12 })
  .map((parts) => parts.join(""));

const ids = {
  slack: { user: "U0BEN", role: "S0OPS" },
  discord: { user: "333333333333333333", role: "444444444444444444" },
};
const mask = (text: string) => text;
const context = { mask, grantMs: 60_000, now: () => 0 } as unknown as ApprovalsContext;
const platforms = ["slack", "discord"] as const;

function built(platform: "slack" | "discord", [command, name, reason, role, handed]: string[]) {
  const { user, role: roleId } = ids[platform];
  const target = { platform, conversationId: `${platform}:C1`, turnId: "t1", messageId: "m1" };
  const body = {
    ...{
      id: "a1",
      cardId: "c1",
      turnId: "t1",
      conversationId: target.conversationId,
      scope: "channel:C1" as const,
      target,
    },
    requester: person("ann", { name: name ?? "" }),
    call: { id: "k1", name: "shell_exec", input: { command: command ?? "" } },
    ...{ callHash: "h", requestedHash: "h", workingFolder: "/", matches: [{ ...asks, reason: reason ?? "" }] },
    ...{ extraTags: [], approvers: [`user:${user}`, `role:${roleId}`], quorum: 1, notRequester: false },
    ...{ votes: [], grantIds: [], createdAt: 0, expiresAt: 3_600_000, facts: [reason ?? ""] },
  };
  const row = { id: "a1", state: "open", body, group: "t1", sequence: 1, createdAt: 0, updatedAt: 0 } as ApprovalRow;
  const record: CardRecord = {
    ...{ platform, conversationId: target.conversationId, turnIds: ["t1"], messages: [] },
    notify: {
      ...{ decidedAt: 0, others: 45, roles: [{ id: roleId, name: role ?? "" }] },
      people: [{ id: user, name: name ?? "", isMentioned: true }],
      handed: [{ by: { id: "x", name: handed ?? "" }, to: { id: "y", name: command ?? "" }, at: 0 }],
    },
  };
  return { target, row, record, found: { card: record, rows: [row] } };
}

function slackPings({ text, blocks }: MessageContent): string[] {
  const message = {
    ...{ text, blocks, attachments: [], parse: { full: false, mrkdwn: true, unfurlLinks: false, unfurlMedia: false } },
  } as unknown as StoredMessage;
  const pings = effectsOf(message).flatMap((effect) => {
    if (effect.type === "user" || effect.type === "group") return [effect.id];
    return effect.type === "broadcast" ? [effect.range] : [];
  });
  return [...new Set(pings)];
}

/** `allowed_mentions` lists exactly these, so only they can be pinged. The text must name them, or nobody is. */
function discordPings({ content = "", components = [], mentions }: OutgoingMessage): string[] {
  const shown = (content + JSON.stringify(components)).replace(/```[\s\S]*?```/g, " ");
  const isNamed = (mark: string) => shown.includes(mark);
  return [
    ...(mentions?.users ?? []).filter((id) => isNamed(`<@${id}>`)),
    ...(mentions?.roles ?? []).filter((id) => isNamed(`<@&${id}>`)),
  ];
}

test.each(platforms)(
  "a card on %s pings exactly those who are asked, and nobody once it is settled",
  (platform) => {
    const { user, role } = ids[platform];
    const pingsOf = (row: ApprovalRow, parts: ReturnType<typeof built>) => {
      const card = withNotify(mask, buildCard("c1", [row], parts.target, context), parts.record, [row]);
      if (platform === "slack") return slackMessages(card, "shared").parts.flatMap(slackPings);
      const options = { place: { thread: null }, style: "full" as const };
      return discordMessages(card, options).flatMap(discordPings);
    };
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 5, maxLength: 5 }), (texts) => {
        const parts = built(platform, texts);
        expect(pingsOf(parts.row, parts)).toEqual([user, role]);
        const settled = {
          ...parts.row,
          state: "denied",
          body: { ...parts.row.body, reason: texts[2] ?? "" },
        } as ApprovalRow;
        expect(pingsOf(settled, parts)).toEqual([]);
      }),
      { numRuns: runs(1_500) },
    );
  },
  120_000,
);

test.each(platforms)(
  "the lines on %s ping exactly those whom they are for",
  (platform) => {
    const { user, role } = ids[platform];
    const pingsOf = (line: NotePart[]) =>
      platform === "slack"
        ? slackPings(slackNote({ key: "k", line }))
        : discordPings(discordNote({ key: "k", line })).concat();
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 5, maxLength: 5 }), (texts) => {
        const { found, record, row } = built(platform, texts);
        const { people = [], roles = [] } = record.notify ?? {};
        expect(pingsOf(reminderLine(context, found, { people, roles }, 60_000))).toEqual([user, role]);
        expect(pingsOf(failedCopyLine(context, found, { id: user, name: texts[1] ?? "" }))).toEqual([user]);
        const asker = { ...row.body, requester: person(user, { name: texts[1] ?? "" }) };
        const expired = { ...found, rows: [{ ...row, state: "expired", body: asker } as ApprovalRow] };
        expect(pingsOf(expiryLine(context, expired))).toEqual([user]);
      }),
      { numRuns: runs(1_500) },
    );
  },
  120_000,
);
