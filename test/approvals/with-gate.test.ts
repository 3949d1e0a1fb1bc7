/** Approvals and the gate together, with patterns as a SKILL.md has them. */
import { describe, expect, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import type { GateRule, GateRules } from "../../src/ports/gate.ts";
import { call, click, folder, setUp, target } from "./approvals-fixture.ts";

const file = "/skills/shell/SKILL.md";
const confirmRm: GateRule = {
  kind: "confirm",
  pattern: "\\brm\\b",
  reason: "removes files",
  skill: "shell",
  file,
  line: 9,
};
const blockForce: GateRule = { kind: "danger", pattern: "rm\\s+-rf", skill: "shell", file, line: 5 };

function rulesOf(rules: GateRule[]): GateRules {
  return { rules, shellParameters: new Map([["shell_exec", ["command"]]]) };
}

async function asked(rules: GateRule[], command: string) {
  const gate = createGate({ rules: rulesOf(rules), matching: "extended" });
  const desk = setUp({ gate });
  const { matches, input } = gate.classify("shell_exec", { command });
  if (input === undefined) throw new Error("the gate refused the arguments of this test");
  const one = call("c1", input);
  const { card, approvalIds } = await desk.approvals.open({
    ...{ turnId: "t1", target: target("t1"), scope: "dm:ann", workingFolder: folder },
    requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
    calls: [{ call: one, matches }],
  });
  return { gate, desk, card, one, approvalId: approvalIds[0] ?? "" };
}

describe("approvals with the real gate", () => {
  test("the card gives the rule's reason and skill, and the approved call runs", async () => {
    const { desk, card, one, approvalId } = await asked([confirmRm, blockForce], "rm notes.txt");
    expect(card.items[0]?.reason).toBe("Risk: Removes files.");
    expect(card.items[0]?.why).toEqual([
      expect.stringMatching(/^Skill shell asks: removes files\. Pattern “.+” \(.*line \d+\)\.$/),
    ]);
    await desk.approvals.answer(click(card.id));
    expect(await desk.approvals.redeem(approvalId, one, folder)).toMatchObject({ type: "approved", call: one });
  });

  const blocked = ["rm -rf notes", "r''m -rf notes", "ｒｍ -rf notes", "bash -c 'rm -rf notes'"];
  test.each(blocked)("an edit to %s is refused, in every form that the gate sees through", async (command) => {
    const { desk, card, approvalId } = await asked([confirmRm, blockForce], "rm notes.txt");
    const editedJson = JSON.stringify({ command });
    const receipt = await desk.approvals.answer(click(card.id, { choice: "edit", editedJson }));
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("blocked by the safety rules") });
    expect(await desk.stateOf(approvalId)).toBe("open");
  });

  test("rules that are swapped in after the approval block the call", async () => {
    const { gate, desk, card, one, approvalId } = await asked([confirmRm], "rm -rf notes");
    await desk.approvals.answer(click(card.id));
    gate.replace(rulesOf([confirmRm, blockForce]));
    const outcome = await desk.approvals.redeem(approvalId, one, folder);
    expect(outcome).toMatchObject({ type: "refused", reason: "The safety rules of shell now block it." });
  });

  test("a grant for one pattern does not cover a call that a second pattern asks about", async () => {
    const confirmTrash: GateRule = { ...confirmRm, pattern: "trash", line: 10 };
    const { gate, desk, card } = await asked([confirmRm, confirmTrash], "rm notes.txt");
    await desk.approvals.answer(click(card.id, { choice: "allow" }));
    const states = [];
    for (const [index, command] of ["rm other.txt", "rm trash/x"].entries()) {
      const { matches, input = {} } = gate.classify("shell_exec", { command });
      const next = await desk.ask(`n${index}`, call("c1", input), { calls: [{ call: call("c1", input), matches }] });
      states.push(next.card.items[0]?.state);
    }
    expect(states).toEqual(["approved", "open"]);
  });
});
