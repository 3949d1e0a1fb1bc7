/** Cards about changes to a folder, whatever is in them. */
import { MessageFlags } from "discord.js";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cardMessages, cardStyles } from "../../../src/platforms/discord/outbound/cards/card.ts";
import type { ApprovalCard, CardItem, ShownChange, ShownChanges } from "../../../src/ports/card.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";
import { createCard } from "../../conformance/platform-world.ts";
import { readMessage } from "../../doubles/discord/message-form.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { runs } from "../../faults/share.ts";
import { type ChangesWorld, openChangesWorld } from "./changes-world.ts";
import { rendered, textDisplays } from "./rendering.ts";

const flags = MessageFlags.IsComponentsV2;

let message: ChangesWorld["message"];
let cardOf: ChangesWorld["cardOf"];
let close: () => Promise<void>;

beforeEach(async () => {
  const world = await openChangesWorld();
  ({ message, cardOf } = world);
  close = world.bot.close;
});
afterEach(() => close());

describe("whatever the changes are", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 400 }),
    fc.stringMatching(/^[*_`~|<>@#\\[\]()\n:-]{0,300}$/),
    fc.constantFrom("`".repeat(5_000), "x".repeat(9_000), "\\".repeat(700), "🎉".repeat(500), "a\n".repeat(900)),
    fc.constantFrom("```diff\n+x\n```\n<@1> @everyone https://evil.example", ""),
  );
  const change = fc.record({
    path: text,
    action: fc.constantFrom("deleted" as const, "changed" as const, "added" as const),
    detail: text,
  });
  const anyChanges: fc.Arbitrary<ShownChanges> = fc.record(
    {
      title: text.map((each) => each || "changes"),
      summary: text,
      files: fc.array(change, { maxLength: 25 }),
      moreFiles: fc.constantFrom(0, 1, 12_345),
      commands: fc.array(fc.record({ text, outcome: text }), { maxLength: 40 }),
      lastOutput: text,
      diff: text,
      labels: fc.record({ approve: text, deny: text }),
    },
    { requiredKeys: ["title", "summary", "files", "moreFiles", "commands", "labels"] },
  );
  const anyItem: fc.Arbitrary<CardItem> = fc.record(
    {
      approvalId: fc.stringMatching(/^[\w-]{22}$/),
      tool: fc.constant("shell_exec"),
      callText: text,
      headline: text,
      reason: text,
      why: fc.array(text, { maxLength: 9 }),
      times: fc.constant(1),
      state: fc.constantFrom("open", "denied", "consumed"),
      choices: fc.subarray<AnswerChoice>(["approve", "deny", "allow", "part", "diff", "undo", "again"]),
      facts: fc.array(text, { maxLength: 20 }),
      grantText: text,
      progress: text,
      outcome: text,
      editedFrom: text,
      warning: text,
      changes: anyChanges,
    },
    { requiredKeys: ["approvalId", "tool", "headline", "callText", "why", "times", "state", "choices"] },
  );

  test("the card is one that Discord takes, and nothing in it does anything", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(anyItem, { minLength: 1, maxLength: 6, selector: ({ approvalId }) => approvalId }),
        text,
        fc.constantFrom(...cardStyles),
        (items, approversText, style) => {
          const shown: ApprovalCard = { ...createCard(message), id: "c".repeat(22), items, approversText };
          const place = { thread: "1".repeat(20), firstMessage: "2".repeat(20) };
          for (const each of cardMessages(shown, { place, style })) {
            const attached = (each.files ?? []).map(({ name, data }) => ({
              index: "0",
              filename: name,
              bytes: Buffer.from(String(data)),
            }));
            const { components = [] } = readMessage({ ...each, files: undefined, flags }, attached);
            const seen = {
              content: "",
              embeds: [],
              components,
              pings: { users: [], roles: [], everyone: false },
              previews: [],
            };
            expect(rendered(seen as unknown as SeenMessage).effects).toEqual([]);
          }
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test("files that are too many for their lines are counted, the first ones are named", () => {
    const detail = "x".repeat(60);
    const all = Array.from({ length: 25 }, (_, index): ShownChange => {
      return { path: `${"d".repeat(60)}/${index}.x`, action: "deleted", detail };
    });
    const [only] = cardMessages(cardOf({ files: all, moreFiles: 4 }), { place: { thread: null }, style: "full" });
    const body = (only?.components ?? []).flatMap(textDisplays).join("\n");
    const named = all.filter((_, index) => body.includes(`/${index}.x `)).length;
    expect(named).toBeGreaterThan(5);
    expect(named).toBeLessThan(25);
    expect(body).toContain(`and ${all.length - named + 4} more files`);
    expect(body).toContain("/0.x ");
  });

  test("rows in which every text is too long and all of it markup still fit together", () => {
    const long = "*".repeat(400);
    const lines = Array.from({ length: 30 }, () => long);
    const [call] = createCard(message).items as [CardItem];
    const texts = {
      tool: long,
      callText: long.repeat(30),
      editedFrom: long.repeat(30),
      warning: long,
      headline: long,
      reason: long,
      why: lines,
    };
    const item: CardItem = { ...call, ...texts, facts: lines, progress: long, outcome: long };
    for (const style of cardStyles) {
      const items = Array.from({ length: 9 }, (_, index) => ({ ...item, approvalId: `approval-${index}` }));
      const shown = cardMessages(
        { ...createCard(message), items, approversText: long },
        { place: { thread: null }, style },
      );
      for (const each of shown) readMessage({ ...each, files: undefined, flags }, []);
      expect(shown).toHaveLength(3);
    }
  });

  test("every file of a card that asks is on it, in its file, behind Show diff, or counted", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ length: fc.integer({ min: 1, max: 400 }), detail: fc.integer({ min: 1, max: 60 }) }), {
          maxLength: 25,
        }),
        fc.constantFrom(...cardStyles),
        fc.boolean(),
        (lengths, style, hasDiff) => {
          const all = lengths.map(({ length, detail }, index): ShownChange => {
            return { path: `${"d".repeat(length)}/${index}.x`, action: "deleted", detail: "x".repeat(detail) };
          });
          const choices: AnswerChoice[] = ["approve", "deny", ...(hasDiff ? (["diff"] as const) : [])];
          const asking = cardOf({ files: all, commands: [], lastOutput: "", diff: "" }, { choices });
          const [only] = cardMessages(asking, { place: { thread: null }, style });
          const body = (only?.components ?? []).flatMap(textDisplays).join("\n");
          const attached = (only?.files ?? []).map(({ data }) => String(data)).join("");
          const canApprove = JSON.stringify(only?.components).includes("approve|");
          const isSeen = ({ path }: ShownChange) => `${body}${attached}`.includes(path);
          if (canApprove && !hasDiff) expect(all.every(isSeen)).toBe(true);
          if (style === "full") expect(canApprove).toBe(true);
          const named = all.filter((_, index) => body.includes(`/${index}.x `)).length;
          if (named < all.length) expect(body).toContain(`and ${all.length - named} more file`);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
