/** Attacks on approvals from outside, through the page and its API. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import {
  addPerson,
  ann,
  approvalOf,
  asked,
  begin,
  ben,
  cloudKey,
  configFile,
  end,
  endOf,
  forged,
  listed,
  remora,
  settled,
  written,
} from "./approval-world.ts";

let short: { home: RemoraHome; remora: RunningRemora; ann: ChatClient; card: SeenMessage };

beforeAll(async () => {
  short = await openShortLived();
  await begin();
});
afterAll(async () => {
  short.ann.close();
  await Promise.all([end(), short.remora.stop()]);
  await short.home.remove();
});

/** A card that expires after six seconds, during the other tests. */
async function openShortLived(): Promise<typeof short> {
  const other = await createHome();
  const config = await configFile(other, { approvers: listed, shell: "ask", expiryMinutes: 0.1 });
  const process = await startRemora(other, { REMORA_CONFIG: config });
  const client = await createChatClient(process.url, process.token);
  const card = await client.cardFor(await client.say("@remora run echo ran >> expired.txt"));
  return { home: other, remora: process, ann: client, card };
}

describe("attacks on approvals", () => {
  test("a click by someone else in the channel changes nothing, and they are told who can answer", async () => {
    const call = await asked("stranger.txt");
    const stranger = await addPerson("Mallory");
    for (const choice of ["approve", "deny", "allow", "edit"]) {
      const answer = await forged(call.card, { person: stranger, choice, editedJson: '{"command":"true"}' });
      expect(answer).toMatchObject({ accepted: false, text: expect.stringContaining("can answer this") });
    }
    expect(ann.seen.get(call.card.id)).toMatchObject({ state: "waiting", card: { items: [{ state: "open" }] } });
    await ann.click(call.card, "deny");
    await endOf(call);
    expect(await written(call.mark)).toBe("");
  });

  test("bots, webhooks, guests and namesakes are refused", async () => {
    const call = await asked("guest.txt");
    for (const person of ["remora", "B012BOT", "", "ann ", "ANN", "slack:ann", "__proto__"]) {
      expect(await forged(call.card, { person })).toMatchObject({ status: 404 });
    }
    const namesake = await addPerson("Ann");
    expect(namesake).not.toBe("ann");
    expect(await forged(call.card, { person: namesake })).toMatchObject({ accepted: false });
    await ann.click(call.card, "deny");
    await endOf(call);
    expect(await written(call.mark)).toBe("");
  });

  test("double and concurrent clicks make one decision, and everybody is told", async () => {
    const call = await asked("race.txt");
    const clicks = Array.from({ length: 40 }, (_, index) =>
      (index % 2 ? ann : ben).click(call.card, index % 3 === 2 ? "deny" : "approve"),
    );
    const answers = await Promise.all(clicks);
    const accepted = answers.filter((answer) => answer.accepted);
    expect(accepted).toHaveLength(1);
    await endOf(call);
    const isApproved = accepted[0]?.text.startsWith("Approved") === true;
    expect(await written(call.mark)).toBe(isApproved ? "ran\n" : "");
    const outcome = (await settled(call)).card?.items[0]?.outcome ?? "-";
    for (const late of answers.filter((answer) => !answer.accepted)) expect(late.text).toContain(outcome);
  });

  test("a forged button id is unknown, and a real id counts only on its own card", async () => {
    const [call, other] = [await asked("forged.txt"), await asked("forged-other.txt")];
    const hers = await asked("forged-dm.txt", { place: { dm: true } });
    const guesses = [
      "",
      "0",
      "*",
      "%",
      "__proto__",
      "' OR 1=1 --",
      randomBytes(16).toString("base64url"),
      randomUUID(),
    ];
    const near = approvalOf(call.card);
    guesses.push(
      near.toUpperCase(),
      near.slice(0, -1),
      `${near} `,
      `approval:${near}`,
      call.said.id,
      "x".repeat(10_000),
    );
    for (const cardOrApprovalId of guesses) {
      expect(await forged(call.card, { cardOrApprovalId })).toMatchObject({
        accepted: false,
        text: expect.stringMatching(/no longer valid/),
      });
    }
    // A real id on another card, in another conversation, or on an ordinary message.
    expect(await forged(other.card, { cardOrApprovalId: near })).toMatchObject({ accepted: false });
    expect(await forged(call.card, { cardOrApprovalId: approvalOf(hers.card) })).toMatchObject({ accepted: false });
    expect(await forged(call.card, { messageId: call.said.id })).toMatchObject({ status: 404 });
    expect(await forged(call.card, { messageId: "no-such-message" })).toMatchObject({ status: 404 });
    expect(await forged(hers.card, { person: "ben" })).toMatchObject({ status: 404 });
    expect(await forged(call.card, { choice: "approve-all" })).toMatchObject({ status: 400 });
    for (const one of [call, other, hers]) {
      expect(await ann.click(one.card, "deny")).toMatchObject({ accepted: true });
      await endOf(one);
    }
    expect(await Promise.all([call, other].map(({ mark }) => written(mark)))).toEqual(["", ""]);
    expect(await written(hers.mark, "dm:ann")).toBe("");
  });

  test("markup and hidden characters in a call are shown escaped", async () => {
    const said = await ann.say(
      "@remora run echo '\u202Etxt.exe\u200B' '```' '<!channel> [safe](http://x) <b>' >> inject.txt",
    );
    const card = await ann.cardFor(said);
    const [item] = card.card?.items ?? [];
    expect(item?.callText).toContain("\\u{202E}txt.exe\\u{200B}");
    expect(item?.callText).toContain("<!channel> [safe](http://x) <b>");
    expect(item?.callText).not.toMatch(/\p{Bidi_Control}|\u200B|```/u);
    expect(item?.warning).toMatch(/U\+202E.*U\+200B/);
    expect(item?.editJson).not.toMatch(/\p{Bidi_Control}|\u200B/u);
    expect(card.text).toBe("");
    await ann.click(card, "approve");
    await endOf({ card });
    // The card shows it escaped; the requested call runs unchanged.
    expect(await written("inject.txt")).toContain("\u202Etxt.exe\u200B");
  });

  test("a call of 90,000 characters is on the card in full, including a dangerous end", async () => {
    const call = await asked("tail.txt", { prefix: `true ${"a".repeat(90_000)} && ` });
    expect(call.card.card?.items[0]?.callText).toMatch(
      /^shell_exec\ncommand: "true a{90000} && echo ran >> tail\.txt"$/,
    );
    const blanks = await asked("tail-blanks.txt", { prefix: `true ${" ".repeat(400)}&& ` });
    expect(blanks.card.card?.items[0]?.warning).toContain("a long run of blanks");
    for (const one of [call, blanks]) {
      await ann.click(one.card, "deny");
      await endOf(one);
      expect(await written(one.mark)).toBe("");
    }
  });

  test("configured secrets in arguments are masked by name, and the call needs the operator", async () => {
    const said = await ann.say(`@remora run echo ${cloudKey} >> secret.txt`);
    const card = await ann.cardFor(said);
    const [item] = card.card?.items ?? [];
    expect(item?.callText).toContain(`echo [skills.settings.cloud.apiKey, ${cloudKey.length} characters] >>`);
    expect(item?.choices).toEqual(["approve", "deny", "why"]);
    expect(item?.facts?.[0]).toContain("Only an owner can approve");
    expect(card.card?.approversText).toContain("the operator");
    for (const client of [ann, ben]) expect((await client.click(card, "approve")).accepted).toBe(false);
    const cardOrApprovalId = item?.approvalId;
    const response = await ann.request("POST", "/dashboard/answers", { cardOrApprovalId, choice: "approve" });
    expect(await response.json()).toMatchObject({ accepted: true });
    const end = await endOf({ card });
    expect(JSON.stringify([card, end, await settled({ card })])).not.toContain(cloudKey);
    expect(await written("secret.txt")).toBe(`${cloudKey}\n`);
    const blocked = await ann.answerTo(await ann.say(`@remora run rm -rf / ${cloudKey}`));
    expect(blocked.text).toContain("the safety rules block it");
  });

  test("text between PEM markers or after sk- is on the card in full, however long", async () => {
    const hiding = [
      "echo -----BEGIN RSA PRIVATE KEY----- >> pem.txt; echo hidden >> pem.txt; echo -----END RSA PRIVATE KEY-----",
      "echo sk-ant-api03-hidden-behind-a-token-shape-0123456789 >> pem.txt",
      `echo xoxb-0123456789-abcdefghijkl ${"long ".repeat(8_000)}-----BEGIN PRIVATE KEY----- end >> pem.txt`,
    ];
    for (const command of hiding) {
      const card = await ann.cardFor(await ann.say(`@remora run ${command}`));
      const [item] = card.card?.items ?? [];
      expect(item?.callText).toContain(command);
      expect(item?.facts?.join() ?? "").not.toContain("hidden");
      const data = (await (await ann.request("GET", "/dashboard/data")).json()) as { approvals: { call: string }[] };
      expect(data.approvals.map(({ call }) => call)).toContainEqual(item?.callText);
      await ann.click(card, "deny");
      await endOf({ card });
    }
    expect(await written("pem.txt")).toBe("");
  });

  test("identical calls share a card, at most five cards are open, and further calls are denied with a note", async () => {
    const place = { dm: true } as const;
    const [first, twin] = [
      await asked("twin.txt", { by: ben, place }),
      await ben.say("run echo ran >> twin.txt", place),
    ];
    const second = await ben.waitFor((message) => message.type === "card" && message.sequence > twin.sequence);
    expect(second.card).toMatchObject({ id: first.card.card?.id, items: [{ times: 2 }] });
    const earlier = await ben.waitFor((message) => message.id === first.card.id && message.card?.items[0]?.times === 2);
    expect(earlier.state).toBe("waiting");
    const others = [];
    for (let index = 1; index < 5; index += 1) others.push(await asked(`open-${index}.txt`, { by: ben, place }));
    const surplus = await ben.say("run echo ran >> open-6.txt", place);
    const refused = await ben.waitFor(
      (message) => message.sequence > surplus.sequence && /5 approval cards are already open/.test(message.text),
    );
    expect(refused.text).toContain("it was denied");
    for (const { card } of [first, ...others]) expect(await ben.click(card, "deny")).toMatchObject({ accepted: true });
    expect((await settled({ card: second }, ben)).card?.items).toMatchObject([{ state: "denied", choices: [] }]);
    for (const mark of ["twin.txt", "open-1.txt", "open-6.txt"]) expect(await written(mark, "dm:ben")).toBe("");
  });

  test("after the request is edited or deleted, nothing runs", async () => {
    const edited = await asked("edited-message.txt");
    const text = "@remora run echo ran >> another.txt";
    expect((await ann.request("PATCH", `/local/api/messages/${edited.said.id}`, { person: "ann", text })).status).toBe(
      200,
    );
    expect((await settled(edited)).card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
    expect(await ann.click(edited.card, "approve")).toMatchObject({ accepted: false });
    await endOf(edited);
    expect(await Promise.all([written(edited.mark), written("another.txt")])).toEqual(["", ""]);

    const deleted = await asked("deleted-message.txt");
    expect((await ann.request("DELETE", `/local/api/messages/${deleted.said.id}`, { person: "ann" })).status).toBe(204);
    const gone = await settled(deleted);
    expect(gone.card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
    expect(await ann.click(deleted.card, "approve")).toMatchObject({ accepted: false });
    expect(await written(deleted.mark)).toBe("");
  });

  test("after a stop the card has no buttons, and every click is told so", async () => {
    const call = await asked("stopped.txt");
    await ann.command("stop", "", { channel: "general", thread: call.said.id });
    expect((await settled(call)).card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
    for (const choice of ["approve", "allow", "edit"] as const) {
      expect(await ann.click(call.card, choice, { editedJson: "{}" })).toMatchObject({
        accepted: false,
        text: expect.stringContaining("stopped"),
      });
    }
    expect(await written(call.mark)).toBe("");
  });

  test("edits into something dangerous, invalid or for another tool are refused, and the card stays open", async () => {
    const call = await asked("edit.txt");
    const edits = [
      '{"command":"rm -rf /"}',
      '{"command":"r\\u006d -r\\u0066 /"}',
      '{"command":"true","command":"rm -rf ~"}',
      '{"command":"true","__proto__":{"command":"rm -rf /"}}',
      '{"command":["rm","-rf","/"]}',
      '{"command":"true","tool":"other"}',
      '{"toString":"rm -rf /"}',
      "{}",
      "[]",
      "null",
      "",
      '"rm -rf /"',
      "[".repeat(20_000),
      `{"command":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
    ];
    for (const editedJson of edits) {
      expect(await ann.click(call.card, "edit", { editedJson })).toMatchObject({
        accepted: false,
        text: expect.stringContaining("Nothing was changed"),
      });
    }
    expect(await ann.click(call.card, "edit")).toMatchObject({ accepted: false });
    expect(ann.seen.get(call.card.id)?.card?.items).toMatchObject([{ state: "open" }]);
    const editedJson = '{"command":"echo edited >> edit.txt"}';
    expect(await ann.click(call.card, "edit", { editedJson })).toMatchObject({ accepted: true });
    await endOf(call);
    expect(await written(call.mark)).toBe("edited\n");
    expect((await settled(call)).card?.items[0]).toMatchObject({
      editedFrom: expect.stringContaining("echo ran"),
      outcome: expect.stringMatching(/^Ann changed .* and approved it$/),
    });
  });

  test("an approval expires on time, its card loses the buttons, and a late click is told so", async () => {
    const gone = await settled(short, short.ann);
    expect(gone.card?.items).toMatchObject([
      { state: "expired", choices: ["reask"], outcome: expect.stringContaining("Nobody answered in time") },
    ]);
    for (const choice of ["approve", "deny", "allow", "edit"] as const) {
      expect(await short.ann.click(short.card, choice)).toMatchObject({
        accepted: false,
        text: expect.stringContaining("Nobody answered in time"),
      });
    }
    expect((await endOf(short, short.ann, short.home)).text).toContain("expired");
    expect(await written("expired.txt", "channel:general", short.home)).toBe("");
  });
});

describe.skipIf(missingBrowser !== undefined)(`markup on the page${browserNote}`, () => {
  test("stays text in arguments, names, file names, reasons and receipts", async () => {
    const browser = await launchBrowser();
    try {
      const tab = await (await browser.newContext()).newPage();
      tab.setDefaultTimeout(90_000);
      const problems: string[] = [];
      tab.on("dialog", (dialog) => {
        problems.push(dialog.message());
        void dialog.dismiss();
      });
      tab.on("request", (request) => {
        if (!request.url().startsWith(remora.url) && !request.url().startsWith("data:")) problems.push(request.url());
      });
      const bad = "<img src=https://evil.example/x onerror=alert(1)><script>alert(2)</script>";
      const person = await addPerson("<img src=x onerror=alert(3)> Zoë");
      const thread = (await ann.say(`just a thread of ${bad}`)).id;
      const place = { channel: "general", thread };
      await ann.command(bad, `${bad} [x](javascript:alert(4)) ![p](https://evil.example/p.png)`, place);
      const base64 = Buffer.from("<script>alert(5)</script>").toString("base64");
      const attachments = [{ name: `${bad}.svg`, mimeType: "image/svg+xml", base64 }];
      const text = `@remora run echo '${bad}' '</pre></section>' >> markup.txt`;
      await ann.request("POST", "/local/api/messages", { ...place, person, text, attachments });
      const card = await ann.waitFor((message) => message.type === "card" && message.thread === thread);
      await tab.goto(`${remora.url}/?token=${remora.token}`);
      await tab
        .getByText("just a thread of")
        .locator("xpath=ancestor::article")
        .getByRole("button", { name: /repl/ })
        .click();
      const shown = tab.getByRole("complementary", { name: "Thread" });
      await shown.locator(".card-headline", { hasText: `'${bad}' '</pre></section>' >> markup.txt` }).waitFor();
      await forged(card, { person, choice: "deny", reason: `${bad} because` });
      await shown.locator(".outcome", { hasText: `${bad} because` }).waitFor();
      await shown.locator(".file", { hasText: bad }).waitFor();
      expect(
        await tab.locator("[onerror], main script, aside script, [href^='javascript:'], img[src^='http']").count(),
      ).toBe(0);
      // Here also after the turn has ended, unlike among the live turns.
      await tab.goto(`${remora.url}/dashboard#/turns`);
      await tab.getByText("onerror=alert(3)").first().waitFor();
      expect(await tab.locator("[onerror]").count()).toBe(0);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
