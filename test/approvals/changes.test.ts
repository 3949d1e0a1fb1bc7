/** Approvals of changes to a folder: who decides, once, and what the card says. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApprovalPolicy } from "../../src/approvals/authority.ts";
import type { ApprovalRecord, ChangesGrant, ChangesRecord, ChangesRequest } from "../../src/ports/approval.ts";
import type { ShownChanges } from "../../src/ports/card.ts";
import type { AnswerChoice, Author, InboundAnswer } from "../../src/ports/message.ts";
import { parseSkill } from "../../src/skill-runtime/parse/parse-skill.ts";
import { ann, asks, ben, call, click, hour, person, setUp, target } from "./approvals-fixture.ts";

const website = "/srv/website";
const carl = person("carl");

function shownWith(changes: Partial<ShownChanges> = {}): ShownChanges {
  return {
    title: "website: 1 file deleted, 1 changed",
    summary: "Nothing in website changes until somebody approves.",
    files: [
      { path: "old.html", action: "deleted", detail: "2 kB" },
      { path: "app.css", action: "changed", detail: "+1 −1" },
    ],
    moreFiles: 0,
    commands: [{ text: "npm test", outcome: "exit code 0" }],
    lastOutput: "12 passed",
    diff: "-old\n+new",
    labels: { approve: "Approve", deny: "Deny" },
    ...changes,
  };
}

function changesWith(changes: Partial<ChangesRecord> = {}): ChangesRecord {
  return { draftId: "d1", kind: "ask", hash: "hash-1", shown: shownWith(), paths: ["old.html", "app.css"], ...changes };
}

const rulesOf = (...kinds: string[]) =>
  kinds.map((kind) => ({ pattern: `${kind} ${website}`, reason: `${kind} in website` }));
/** A request for changes of these kinds, which grants for all of them cover. */
function grantOf(kinds: string[], covers: Partial<NonNullable<ChangesGrant["covers"]>> = {}): ChangesGrant {
  const shown = { shown: shownWith({ title: "every file" }), paths: ["app.css"] };
  return {
    rules: rulesOf(...kinds),
    covers: { shown, lost: () => [], shrunk: {}, problem: async () => undefined, ...covers },
  };
}
const grant = grantOf(["change text"]);

function openDesk(policy: ApprovalPolicy = {}) {
  const undone: string[] = [];
  const again: string[] = [];
  let isChanged = false;
  let diff: string | undefined = "--- a/app.css\n+hunter2secret\u202e";
  const desk = setUp({
    policy,
    changes: {
      diff: async () => (isChanged ? "changed" : diff === undefined ? undefined : { text: diff }),
      undo: async (_record: ApprovalRecord, id: string, by: Author) => {
        undone.push(`${id} by ${by.id}`);
        return { accepted: true, text: "Undone." };
      },
      runAgain: async (_record: ApprovalRecord, id: string, by: Author) => {
        again.push(`${id} by ${by.id}`);
        return { accepted: true, text: "Working on it again." };
      },
    },
  });
  const requestFor = (turnId: string, more: Partial<ChangesRequest> = {}): ChangesRequest => ({
    turnId,
    target: target(turnId),
    scope: "dm:ann",
    requester: ann,
    workingFolder: website,
    changes: changesWith(),
    whole: { text: (more.changes ?? changesWith()).shown.diff ?? diff ?? "" },
    expiresAt: desk.clock.now + 24 * hour,
    ...more,
  });
  return {
    ...desk,
    undone,
    again,
    changeFiles: () => {
      isChanged = true;
    },
    loseDiff: () => {
      diff = undefined;
    },
    askCall: desk.ask,
    ask: (turnId = "t1", more: Partial<ChangesRequest> = {}) => desk.approvals.openChanges(requestFor(turnId, more)),
    press: (id: string, choice: AnswerChoice, by = ann, more: Partial<InboundAnswer> = {}) =>
      desk.approvals.answer(click(id, { choice, by, ...more })),
    async itemOf(cardId: string) {
      const item = (await desk.approvals.card(cardId))?.items[0];
      if (item === undefined) throw new Error("there is no such card");
      return item;
    },
  };
}

describe("asking", () => {
  test("the same changes again, as after a crash, are the same card and record", async () => {
    const { ask, ledger } = openDesk();
    const first = await ask();
    expect(await ask()).toEqual(first);
    expect(await ledger.list("approval", {})).toHaveLength(1);
    const other = await ask("t1", { changes: changesWith({ hash: "hash-2" }) });
    expect(other.approvalId).not.toBe(first.approvalId);
  });

  test("nobody is woken by the answer, and nothing is kept before there is one", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual({ type: "waiting" });
    await desk.press(approvalId, "approve");
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual({ type: "keep", by: ann, hash: "hash-1" });
  });

  test("what nobody may approve is denied at once, with the reason", async () => {
    const desk = openDesk({ approvers: [] });
    const { state, approvalId } = await desk.ask();
    expect(state).toBe("denied");
    expect(await desk.approvals.redeemChanges(approvalId)).toMatchObject({
      type: "discard",
      sentence: expect.stringContaining("no approvers are configured"),
    });
  });

  test("keep_changes has approvers of its own where the settings say so", async () => {
    const desk = openDesk({ tools: { keep_changes: { approvers: ["user:ben"] } } });
    const { approvalId } = await desk.ask();
    expect((await desk.press(approvalId, "approve", ann)).accepted).toBe(false);
    expect((await desk.press(approvalId, "approve", ben)).accepted).toBe(true);
  });
});

describe("what can't be shown whole", () => {
  const cases = [
    ["a part that is missing", { text: "diff", missing: "data.csv has 50 MiB." }, /data\.csv has 50 MiB\./],
    ["more than services take as a file", { text: "x".repeat(9_500_000) }, /It has 9\.1 MiB\./],
    ["bytes that are too long once they can be read", { text: "\u202e".repeat(1_250_000) }, /It has 9\.5 MiB\./],
  ] as const;

  test.each(cases)(
    "what can't be shown whole has no button that approves, and no forged click does: %s",
    async (_what, whole, why) => {
      const desk = openDesk();
      const { approvalId, card, state } = await desk.ask("t1", { whole, grant });
      expect(card.items[0]).toMatchObject({ choices: ["deny", "diff"], facts: [expect.stringMatching(why)] });
      expect(card.items[0]?.facts?.[0]).toMatch(/^This can't be approved, .* smaller steps/);
      for (const choice of ["approve", "allow", "part", "edit"] as const) {
        const receipt = await desk.press(approvalId, choice, ann, { parts: [0] });
        expect(receipt).toMatchObject({ accepted: false, text: expect.stringMatching(/can't be|can't choose/) });
      }
      expect(await desk.approvals.decide({ cardOrApprovalId: approvalId, choice: "approve" })).toMatchObject({
        accepted: false,
      });
      expect([state, await desk.stateOf(approvalId)]).toEqual(["open", "open"]);
      expect((await desk.press(approvalId, "deny")).accepted).toBe(true);
    },
  );

  test("a diff that the service did not take whole can't be approved in the chat until it is sent", async () => {
    const desk = openDesk();
    const { diff: _tooLong, ...long } = shownWith();
    const { approvalId } = await desk.ask("t1", {
      changes: changesWith({ shown: long }),
      whole: { text: "+a" },
      grant,
    });
    const shown = await desk.press(approvalId, "diff");
    await shown.file?.delivered?.(false);
    for (const choice of ["approve", "allow"] as const) {
      expect(await desk.press(approvalId, choice)).toMatchObject({
        accepted: false,
        text: expect.stringMatching(/^Not all of the diff could be sent here/),
      });
    }
    expect(await desk.stateOf(approvalId)).toBe("open");
    await shown.file?.delivered?.(true);
    expect((await desk.press(approvalId, "approve")).accepted).toBe(true);
  });

  test("changes that can't be shown whole are not covered by a permission that was given before", async () => {
    const desk = openDesk();
    const first = await desk.ask("t1", { grant });
    await desk.press(first.approvalId, "allow");
    const more = { changes: changesWith({ draftId: "d2", hash: "hash-2" }), grant };
    expect((await desk.ask("t2", { ...more, whole: { text: "diff" } })).state).toBe("approved");
    const large = {
      ...more,
      changes: changesWith({ draftId: "d3", hash: "hash-3" }),
      whole: { text: "", missing: "Too much." },
    };
    expect((await desk.ask("t3", large)).state).toBe("open");
  });

  test("a card of changes warns of what stands behind a long run of blanks, and not of columns", async () => {
    const desk = openDesk();
    const said = "A line has a long run of blanks. Read it to the end.";
    const factsOf = async (turnId: string, text: string) => {
      const changes = changesWith({ draftId: turnId, hash: turnId });
      return (await desk.ask(turnId, { changes, whole: { text } })).card.items[0]?.facts ?? [];
    };
    expect(await factsOf("t1", `+echo ok${" ".repeat(400)}; echo PAYLOAD\n`)).toEqual([said]);
    expect(await factsOf("t2", `+${" ".repeat(400)}\n+name${" ".repeat(40)}size\n`)).toEqual([]);
  });

  test("can be approved where changes are kept without asking, and the card says that not all is shown", async () => {
    const desk = openDesk();
    const { card } = await desk.ask("t1", { whole: { text: "", missing: "a has 50 MiB." }, keepsUnasked: true });
    expect(card.items[0]?.choices).toContain("approve");
    expect(card.items[0]?.facts).toEqual(["Not all of it can be shown. a has 50 MiB. You decide about the amount."]);
  });

  test("Show diff shows nothing else than what Approve keeps, and says so when the files have changed", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask("t1", { whole: { text: "diff", missing: "Too much." } });
    desk.changeFiles();
    expect(await desk.press(approvalId, "diff")).toEqual({
      accepted: false,
      text: expect.stringContaining("have changed since"),
    });
    expect(await desk.approvals.diffOf(approvalId)).toContain("have changed since");
  });
});

describe("answering", () => {
  test("an approval is redeemed for the same hash as often as a crash makes it ask", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    await desk.press(approvalId, "approve");
    const outcome = { type: "keep", by: ann, hash: "hash-1" };
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual(outcome);
    expect(await desk.stateOf(approvalId)).toBe("consumed");
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual(outcome);
  });

  test("denied says by whom and why", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    await desk.press(approvalId, "deny", ann, { reason: "not today." });
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual({
      type: "discard",
      sentence: "Ann denied the changes: not today. They were discarded.",
    });
  });

  test("a stranger decides nothing and is told who may", async () => {
    const desk = openDesk();
    const { approvalId, card } = await desk.ask();
    for (const choice of ["approve", "deny", "part", "allow"] as const) {
      const receipt = await desk.press(approvalId, choice, ben, { parts: [0] });
      expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("Ann") });
    }
    expect((await desk.press(approvalId, "approve", ann, { conversationId: "test:C2" })).accepted).toBe(false);
    expect((await desk.press(approvalId, "approve", person("ann", { isBot: true }))).accepted).toBe(false);
    expect((await desk.itemOf(card.id)).state).toBe("open");
  });

  test("a double click decides once, and the second one is told how", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    const receipts = await Promise.all([desk.press(approvalId, "approve"), desk.press(approvalId, "deny")]);
    expect(receipts.filter(({ accepted }) => accepted)).toHaveLength(1);
    expect(await desk.press(approvalId, "deny")).toMatchObject({
      accepted: false,
      text: expect.stringContaining("Nothing left to answer"),
    });
    expect(desk.names().filter((name) => name === "safety.approved" || name === "safety.denied")).toHaveLength(1);
  });

  test("with a quorum of two nothing is kept before both agreed, and one person alone can choose nothing", async () => {
    const desk = openDesk({ quorum: 2, approvers: ["requester", "user:ben", "user:carl"] });
    const { approvalId, card } = await desk.ask("t1", { grant });
    expect(card.items[0]?.choices.toSorted()).toEqual(["approve", "deny"]);
    expect((await desk.press(approvalId, "part", ann, { parts: [0] })).accepted).toBe(false);
    expect((await desk.press(approvalId, "allow", ann)).accepted).toBe(false);
    await desk.press(approvalId, "approve", ann);
    expect((await desk.press(approvalId, "approve", ann)).accepted).toBe(false);
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual({ type: "waiting" });
    expect((await desk.itemOf(card.id)).progress).toBe("Ann approved. 1 more approval is needed.");
    await desk.press(approvalId, "approve", carl);
    expect(await desk.approvals.redeemChanges(approvalId)).toMatchObject({ type: "keep", by: carl });
  });

  test("with not_requester the one who asked, and who asked along, may deny and not approve", async () => {
    const desk = openDesk({ notRequester: true, approvers: ["requester", "user:ben", "user:carl"] });
    const { approvalId } = await desk.ask("t1", { alsoAsked: ["carl"] });
    expect((await desk.press(approvalId, "approve", ann)).accepted).toBe(false);
    expect((await desk.press(approvalId, "part", ann, { parts: [0] })).accepted).toBe(false);
    expect((await desk.press(approvalId, "approve", carl)).accepted).toBe(false);
    expect((await desk.press(approvalId, "deny", ann)).accepted).toBe(true);
  });

  test("an approval counts only while its giver may still give it", async () => {
    let isMember = true;
    const desk = setUp({
      policy: { approvers: ["role:team"] },
      authority: async (by) => (isMember ? by : { ...by, roles: [] }),
    });
    const member = person("ben", { roles: ["team"] });
    const { approvalId } = await desk.approvals.openChanges({
      ...{ turnId: "t1", target: target("t1"), scope: "dm:ann", requester: ann, workingFolder: website },
      ...{ changes: changesWith(), expiresAt: null },
    });
    await desk.approvals.answer(click(approvalId, { by: member }));
    isMember = false;
    expect(await desk.approvals.redeemChanges(approvalId)).toMatchObject({
      type: "discard",
      sentence: expect.stringContaining("no longer counts"),
    });
    expect(await desk.stateOf(approvalId)).toBe("cancelled");
  });

  test("the operator approves, denies and keeps a part", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    const decision = { cardOrApprovalId: approvalId, choice: "part" as const, parts: [0] };
    expect((await desk.approvals.decide(decision)).accepted).toBe(true);
    expect(await desk.approvals.redeemChanges(approvalId)).toMatchObject({ type: "keep", paths: ["old.html"] });
  });
});

describe("expiry", () => {
  test("in the very millisecond an answer is too late, and the changes are discarded", async () => {
    const desk = openDesk();
    const { approvalId, card } = await desk.ask();
    desk.clock.now += 24 * hour;
    expect((await desk.press(approvalId, "approve")).accepted).toBe(false);
    expect(await desk.approvals.redeemChanges(approvalId)).toMatchObject({
      type: "discard",
      sentence: expect.stringContaining("Nobody answered in time"),
    });
    expect((await desk.itemOf(card.id)).choices).toEqual([]);
  });

  test("nobody need click: looking at it, or the sweep, expires it", async () => {
    const desk = openDesk();
    const [one, other] = [await desk.ask("t1"), await desk.ask("t2")];
    desk.clock.now += 24 * hour;
    expect(await desk.approvals.redeemChanges(one.approvalId)).toMatchObject({ type: "discard" });
    await desk.approvals.sweep(desk.clock.now);
    expect(await desk.stateOf(other.approvalId)).toBe("expired");
  });

  test("null is never", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask("t1", { expiresAt: null });
    desk.clock.now += 1_000 * 24 * hour;
    expect((await desk.press(approvalId, "approve")).accepted).toBe(true);
  });
});

describe("a part", () => {
  test("keeps the chosen paths; all of them are no part", async () => {
    const desk = openDesk();
    const [some, all] = [await desk.ask("t1"), await desk.ask("t2")];
    await desk.press(some.approvalId, "part", ann, { parts: [1, 1] });
    expect(await desk.approvals.redeemChanges(some.approvalId)).toMatchObject({ type: "keep", paths: ["app.css"] });
    await desk.press(all.approvalId, "part", ann, { parts: [1, 0] });
    expect(await desk.approvals.redeemChanges(all.approvalId)).not.toHaveProperty("paths");
  });

  test.each([[[]], [undefined], [[7]], [[-1]], [[0.5]]])("of %j decides nothing", async (parts) => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    const receipt = await desk.press(approvalId, "part", ann, parts === undefined ? {} : { parts });
    expect(receipt.accepted).toBe(false);
    expect(await desk.stateOf(approvalId)).toBe("open");
  });

  test("is not offered for one file, nor where not every file is listed", async () => {
    const desk = openDesk();
    const one = await desk.ask("t1", { changes: changesWith({ paths: ["a"] }) });
    const many = await desk.ask("t2", { changes: changesWith({ shown: shownWith({ moreFiles: 1 }) }) });
    for (const { approvalId, card } of [one, many]) {
      expect(card.items[0]?.choices).not.toContain("part");
      expect((await desk.press(approvalId, "part", ann, { parts: [0] })).accepted).toBe(false);
    }
  });
});

describe("a grant", () => {
  test("is offered only with one, so never while untrusted content is in the prompt", async () => {
    const desk = openDesk();
    const { approvalId, card } = await desk.ask();
    expect(card.items[0]?.choices).not.toContain("allow");
    expect((await desk.press(approvalId, "allow")).accepted).toBe(false);
    expect(await desk.stateOf(approvalId)).toBe("open");
  });

  test("keeps the same kind of change in the same folder for the same person, until it runs out or is revoked", async () => {
    const desk = openDesk();
    const first = await desk.ask("t1", { grant });
    expect(first.card.items[0]?.grantText).toContain("when Ann asks for it");
    expect((await desk.press(first.approvalId, "allow")).accepted).toBe(true);
    const second = await desk.ask("t2", { grant });
    expect(second.state).toBe("approved");
    expect(await desk.approvals.redeemChanges(second.approvalId)).toMatchObject({ type: "keep", by: ann });
    const deletes = { grant: grantOf(["change text", "delete text"]) };
    expect((await desk.ask("t3", deletes)).state).toBe("open");
    const elsewhere = { grant: { ...grant, rules: [{ pattern: "change text /srv/other", reason: "change text" }] } };
    expect((await desk.ask("t4", elsewhere)).state).toBe("open");
    // Tainted: the request brings no grant.
    expect((await desk.ask("t5")).state).toBe("open");
    const [given] = await desk.approvals.listGrants();
    const late = await desk.ask("t6", { grant });
    await desk.approvals.revokeGrant(given?.id ?? "");
    expect(await desk.approvals.redeemChanges(late.approvalId)).toMatchObject({ type: "discard" });
    expect((await desk.ask("t7", { grant })).state).toBe("open");
  });

  test("kept under it names every file, with Undo once it is kept, and what it allows can still be ended", async () => {
    const desk = openDesk();
    const first = await desk.ask("t1", { grant });
    await desk.press(first.approvalId, "allow");
    const { approvalId, card } = await desk.ask("t2", { grant });
    expect(card.items[0]).toMatchObject({ isGranted: true, changes: { title: "every file" } });
    await desk.approvals.redeemChanges(approvalId);
    await desk.approvals.finishChanges(approvalId, { result: "Kept 1 file.", undoId: "u1" });
    const { outcome, choices } = await desk.itemOf(card.id);
    expect(outcome).toMatch(/^Ann had allowed .* in advance\. Kept 1 file\.$/);
    expect(choices).toContain("undo");
  });

  test("never applies to changes that say that they always ask, whatever was allowed", async () => {
    const desk = openDesk();
    const first = await desk.ask("t1", { grant });
    await desk.press(first.approvalId, "allow");
    expect((await desk.ask("t2", { grant: { rules: grant.rules } })).state).toBe("open");
    expect((await desk.ask("t3", { grant })).state).toBe("approved");
  });

  test("counts the files that were lost under it, until it is given again", async () => {
    const desk = openDesk();
    const asked: (readonly string[])[] = [];
    const deleting = (...lost: string[]) => {
      const problem = async (_lost: readonly string[], before: readonly string[]) => {
        asked.push(before);
        return before.length + lost.length > 2 ? "Too many files." : undefined;
      };
      return { grant: grantOf(["change text", "delete text"], { lost: () => lost, problem }) };
    };
    const first = await desk.ask("t1", deleting("z"));
    await desk.press(first.approvalId, "allow");
    expect((await desk.ask("t2", deleting("a"))).state).toBe("approved");
    expect((await desk.ask("t3", deleting("b"))).state).toBe("approved");
    const asking = await desk.ask("t4", deleting("c"));
    expect([asking.state, asking.card.items[0]?.changes?.summary]).toEqual([
      "open",
      expect.stringContaining("Too many"),
    ]);
    expect((await desk.ask("t5", { grant })).state).toBe("approved");
    await desk.press(asking.approvalId, "allow");
    expect((await desk.ask("t6", deleting("d"))).state).toBe("approved");
    expect(asked).toEqual([[], ["a"], ["a", "b"], []]);
  });

  test("a grant for changes of an earlier version covers nothing", async () => {
    const desk = openDesk();
    for (const kind of ["keep changes with deletions", "keep changes without deletions"]) {
      const old = await desk.ask(kind, { grant: { rules: rulesOf(kind) } });
      await desk.press(old.approvalId, "allow");
    }
    expect(await desk.approvals.listGrants()).toHaveLength(2);
    for (const kinds of [["change text"], ["delete text"], ["change text", "delete text"]])
      expect((await desk.ask(`t-${kinds}`, { grant: grantOf(kinds) })).state).toBe("open");
  });

  test("holds for the person alone who made the request", async () => {
    const desk = openDesk({ approvers: ["requester", "user:ann", "user:ben"] });
    const first = await desk.ask("t1", { grant });
    await desk.press(first.approvalId, "allow", ben);
    expect((await desk.ask("t2", { grant })).state).toBe("approved");
    expect((await desk.ask("t3", { grant, requester: carl })).state).toBe("open");
    expect((await desk.ask("t4", { grant, requester: ben })).state).toBe("open");
  });

  test("for calls covers no changes, whatever the skill that asks is called and asks about", async () => {
    const name = fc.oneof(
      fc.constantFrom("changes", "' changes'", "remora", "budget"),
      fc.string(),
      fc.constant("' '"),
    );
    const changeText = grant.rules[0]?.pattern ?? "";
    const names = new Set<string>();
    fc.assert(
      fc.property(name, (written) => {
        const text = `---\nname: ${written}\ndescription: d\nconfirm_patterns: [${JSON.stringify(changeText)}]\n---\n\nx\n`;
        const [rule] = parseSkill(Buffer.from(text), "/skills/changes/SKILL.md", null).skill?.rules ?? [];
        if (rule !== undefined) names.add(rule.skill);
      }),
      { numRuns: 500 },
    );
    expect(names).toContain("changes");
    const desk = openDesk();
    for (const skill of ["changes", "remora", "budget"]) {
      const calls = [{ call: call(skill), matches: [{ ...asks, skill, pattern: changeText }] }];
      const { approvalId } = await desk.askCall(skill, call(skill), { calls });
      expect((await desk.press(approvalId, "allow")).accepted).toBe(true);
    }
    const { approvalId } = await desk.ask("t", { grant });
    expect(await desk.stateOf(approvalId)).toBe("open");
    const matches = (await desk.ledger.get("approval", approvalId))?.body.matches ?? [];
    expect(matches.filter(({ skill }) => names.has(skill))).toEqual([]);
  });

  test("runs out", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask("t1", { grant });
    await desk.press(approvalId, "allow");
    desk.clock.now += 30 * 60 * 1_000;
    expect((await desk.ask("t2", { grant })).state).toBe("open");
  });
});

describe("the diff", () => {
  const long = () => {
    const { diff: _diff, ...shown } = shownWith();
    return changesWith({ shown });
  };

  test("is for everyone who sees the card, as a file, without secrets", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask("t1", { changes: long() });
    const receipt = await desk.press(approvalId, "diff", ben);
    expect(receipt).toMatchObject({ accepted: true, file: { name: "changes.diff" } });
    const text = "--- a/app.css\n+[VAULT_KEY, 13 characters]\\u{202E}";
    expect(receipt.file?.text).toBe(text);
    expect(await desk.approvals.diffOf(approvalId)).toBe(text);
  });

  test("that holds a configured secret can be kept by owners only, also where the card does not show it", async () => {
    const desk = openDesk({ approvers: ["requester"], owners: ["user:ben"] });
    for (const [turnId, changes] of [
      ["t1", long()],
      ["t2", changesWith({ shown: shownWith({ diff: "+hunter2secret" }) })],
    ] as const) {
      const { approvalId, card } = await desk.ask(turnId, { changes });
      expect(card.items[0]?.facts?.[0]).toContain("Only an owner can approve");
      expect(card.items[0]?.choices).not.toContain("allow");
      expect((await desk.press(approvalId, "approve", ann)).accepted).toBe(false);
      expect((await desk.press(approvalId, "approve", ben)).accepted).toBe(true);
    }
  });

  test("is not offered where the card shows it, and says so once it is gone", async () => {
    const desk = openDesk();
    const shown = await desk.ask("t1");
    expect((await desk.press(shown.approvalId, "diff")).accepted).toBe(false);
    const { approvalId } = await desk.ask("t2", { changes: long() });
    desk.loseDiff();
    expect(await desk.press(approvalId, "diff")).toMatchObject({
      accepted: false,
      text: expect.stringContaining("diff is gone"),
    });
  });
});

describe("once it was decided", () => {
  async function kept(policy: ApprovalPolicy = {}) {
    const desk = openDesk(policy);
    const { approvalId, card } = await desk.ask();
    await desk.approvals.decide({ cardOrApprovalId: approvalId, choice: "approve" });
    await desk.approvals.redeemChanges(approvalId);
    await desk.approvals.finishChanges(approvalId, { result: "Kept 2 files.", undoId: "u1" });
    await desk.approvals.whenIdle();
    return { ...desk, approvalId, cardId: card.id };
  }

  test("the card shrinks to title, outcome, files and Undo", async () => {
    const { itemOf, cardId, shown } = await kept();
    const item = await itemOf(cardId);
    expect(item).toMatchObject({
      choices: ["undo"],
      outcome: "The operator approved “website: 1 file deleted, 1 changed” for Ann. Kept 2 files.",
    });
    expect(item.changes).toMatchObject({ title: shownWith().title, summary: "", commands: [] });
    expect(item.changes).not.toHaveProperty("diff");
    expect(item.changes).not.toHaveProperty("lastOutput");
    expect(shown.at(-1)?.items[0]?.outcome).toBe(item.outcome);
  });

  test("whoever asked, whoever may approve and the operator may undo; others not", async () => {
    const desk = await kept({ approvers: ["user:ben"] });
    expect(await desk.press(desk.approvalId, "undo", carl)).toMatchObject({ accepted: false });
    expect(await desk.press(desk.approvalId, "undo", person("ann", { isBot: true }))).toMatchObject({
      accepted: false,
    });
    expect(desk.undone).toEqual([]);
    expect(await desk.approvals.mayTakeBack(desk.approvalId, carl)).toBe(false);
    for (const by of [ann, ben]) {
      expect(await desk.approvals.mayTakeBack(desk.approvalId, by)).toBe(true);
      expect(await desk.press(desk.approvalId, "undo", by)).toMatchObject({ accepted: true });
    }
    expect(desk.undone).toEqual([`${desk.approvalId} by ann`, `${desk.approvalId} by ben`]);
  });

  test("what was undone has no Undo any more, and a late click is told", async () => {
    const { approvals, itemOf, press, approvalId, cardId, undone } = await kept();
    await approvals.finishChanges(approvalId, { result: "Kept 2 files, and undone by Ann." });
    expect(await itemOf(cardId)).toMatchObject({ choices: [], outcome: expect.stringContaining("undone by Ann") });
    expect((await press(approvalId, "undo")).accepted).toBe(false);
    expect(undone).toEqual([]);
  });

  test("what could not be kept offers Do it again to the same people", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    await desk.press(approvalId, "approve");
    await desk.approvals.redeemChanges(approvalId);
    await desk.approvals.finishChanges(approvalId, { result: "Nothing was kept.", mayRunAgain: true });
    expect((await desk.press(approvalId, "again", ben)).accepted).toBe(false);
    expect((await desk.press(approvalId, "again")).accepted).toBe(true);
    expect(desk.again).toEqual([`${approvalId} by ann`]);
  });

  test.each(["undo", "again"] as const)("%s is nothing that an open card takes", async (choice) => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    expect((await desk.press(approvalId, choice)).accepted).toBe(false);
    expect(desk.undone.concat(desk.again)).toEqual([]);
  });
});

describe("a card that another one replaced", () => {
  test.each(["open", "approved"] as const)("can't be answered or redeemed any more, when it was %s", async (state) => {
    const desk = openDesk();
    const { approvalId, card } = await desk.ask();
    if (state === "approved") await desk.press(approvalId, "approve");
    await desk.approvals.replaceChanges(approvalId, "Continued below.");
    expect((await desk.press(approvalId, "approve")).accepted).toBe(false);
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual({ type: "discard", sentence: "Continued below." });
    expect(await desk.itemOf(card.id)).toMatchObject({ outcome: "Continued below.", choices: [] });
  });

  test("keeps its outcome when it was decided before", async () => {
    const desk = openDesk();
    const { approvalId } = await desk.ask();
    await desk.press(approvalId, "deny");
    await desk.approvals.replaceChanges(approvalId, "Continued below.");
    expect(await desk.stateOf(approvalId)).toBe("denied");
  });
});

describe("a report", () => {
  const report = () => changesWith({ kind: "report", result: "Kept", undoId: "u1" });

  test("asks nothing, decides nothing and is no decision of anybody", async () => {
    const desk = openDesk();
    const { state, approvalId, card } = await desk.ask("t1", { changes: report(), expiresAt: null });
    await desk.approvals.whenIdle();
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(state).toBe("consumed");
    expect(card.items[0]).toMatchObject({
      outcome: "Kept without asking — website: 1 file deleted, 1 changed",
      choices: ["undo"],
    });
    expect(await desk.approvals.redeemChanges(approvalId)).toEqual({ type: "waiting" });
    expect((await desk.press(approvalId, "approve")).accepted).toBe(false);
    expect(desk.names()).toEqual([]);
    expect(desk.remembered).toEqual([]);
    expect(await desk.approvals.listOpen()).toEqual([]);
  });

  test("is made where nobody may approve, too: Undo is for the one who asked", async () => {
    const desk = openDesk({ approvers: [] });
    const { state, approvalId } = await desk.ask("t1", { changes: report() });
    expect(state).toBe("consumed");
    expect((await desk.press(approvalId, "undo")).accepted).toBe(true);
  });
});

test("a file whose name ends in a blank does not read as another one", async () => {
  const desk = openDesk();
  const files = [{ path: "deploy.sh ", action: "added" as const, detail: "" }];
  const { card } = await desk.ask("t1", { changes: changesWith({ shown: shownWith({ files }) }) });
  expect(card.items[0]?.changes?.files[0]?.path).toBe("deploy.sh\\u{20}");
});

test("texts of the card hide nothing: line ends, right-to-left marks, backticks and secrets", async () => {
  const bad = "x\u202Ey\u200Bz\n```hunter2secret";
  const escaped = "x\\u{202E}y\\u{200B}z ``\\u{60}[VAULT_KEY, 13 characters]";
  const desk = openDesk();
  const { card } = await desk.ask("t1", {
    requester: person("ann", { name: bad }),
    changes: changesWith({
      shown: shownWith({
        title: bad,
        summary: bad,
        files: [{ path: bad, action: "deleted", detail: bad }],
        commands: [{ text: bad, outcome: bad }],
        lastOutput: bad,
        diff: bad,
      }),
    }),
  });
  const lines = "x\\u{202E}y\\u{200B}z\n``\\u{60}[VAULT_KEY, 13 characters]";
  // A line end must not turn what follows a `#` into a comment.
  const exact = escaped.replace(" ", "\\u{A}");
  expect(card.requesterName).toBe(escaped);
  expect(card.items[0]).toMatchObject({ callText: "", why: [] });
  expect(card.items[0]?.changes).toEqual({
    title: escaped,
    summary: escaped,
    files: [{ path: exact, action: "deleted", detail: escaped }],
    moreFiles: 0,
    commands: [{ text: exact, outcome: escaped }],
    lastOutput: lines,
    diff: lines,
    labels: { approve: "Approve", deny: "Deny" },
  });
});
