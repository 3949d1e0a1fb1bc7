/**
 * Attacks on approvals from outside, with the real process, the page's API, and the ledger of a killed process. An attack has
 * succeeded if a command leaves a mark in the folder or its draft, so every command appends to a file of its own.
 * `safety.shell: ask` makes every command ask.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/app/app.ts";
import { createApprovals } from "../../src/approvals/approvals.ts";
import { loadSettings } from "../../src/config/load.ts";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { ApprovalRecord } from "../../src/ports/approval.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundAnswer } from "../../src/ports/message.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createRecordedAudit } from "../doubles/audit.ts";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";
import { type ChatClient, createChatClient, type Place, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { calls, createScriptedProvider, type ScriptStep, says } from "../doubles/scripted-provider.ts";

const listed = ["requester", "user:ben"];
/** A configured secret without a known shape. */
const cloudKey = `cloud${randomBytes(12).toString("hex")}`;
const withCloudKey = { skills: { settings: { cloud: { apiKey: cloudKey } } } };
let home: RemoraHome;
let remora: RemoraProcess;
let ann: ChatClient;
let ben: ChatClient;
let short: { home: RemoraHome; remora: RemoraProcess; ann: ChatClient; card: SeenMessage };

beforeAll(async () => {
  [home, short] = await Promise.all([createHome(), openShortLived()]);
  await begin(listed);
});
afterAll(async () => {
  for (const client of [ann, ben, short.ann]) client.close();
  await Promise.all([remora.kill(), short.remora.kill()]);
  await Promise.all([home.remove(), short.home.remove()]);
});

async function begin(approvers: string[]): Promise<void> {
  remora = await startRemora(home, {
    REMORA_CONFIG: await configFile(home, { approvers, shell: "ask" }, withCloudKey),
  });
  [ann, ben] = await Promise.all([
    createChatClient(remora.url, remora.token),
    createChatClient(remora.url, remora.token, "ben"),
  ]);
}

async function killRemora(): Promise<void> {
  for (const client of [ann, ben]) client.close();
  await remora.kill();
}

/** JSON is YAML. */
async function configFile({ data }: RemoraHome, safety: object, more: object = {}): Promise<string> {
  const path = join(dirname(data), "remora.yaml");
  await writeFile(path, JSON.stringify({ safety, ...more }));
  return path;
}

/** A card that expires after six seconds, during the other tests. */
async function openShortLived(): Promise<typeof short> {
  const other = await createHome();
  const config = await configFile(other, { approvers: listed, shell: "ask", expiryMinutes: 0.1 });
  const process = await startRemora(other, { REMORA_CONFIG: config });
  const client = await createChatClient(process.url, process.token);
  const card = await client.cardFor(await client.say("@remora run echo ran >> expired.txt"));
  return { home: other, remora: process, ann: client, card };
}

interface Asked {
  said: SeenMessage;
  card: SeenMessage;
  /** The file that counts its runs. */
  mark: string;
}

async function asked(
  mark: string,
  { by = ann, place = { channel: "general" } as Place, prefix = "", suffix = "" } = {},
) {
  const said = await by.say(`${place.dm ? "" : "@remora "}run ${prefix}echo ran >> ${mark}${suffix}`, place);
  const card = await by.cardFor(said);
  return { said, card, mark } satisfies Asked;
}

/** The content of a mark, in the folder or in its draft. */
async function written(mark: string, folder = "channel:general", where = home): Promise<string> {
  const drafts = join(where.workspace, "drafts");
  const names = await readdir(drafts, { recursive: true }).catch(() => []);
  const inDrafts = names.filter((name) => name.endsWith(`/${mark}`)).map((name) => join(drafts, name));
  // Undo data does not count, because it is the earlier content.
  const places = [join(where.workspace, "files", folder, mark), ...inDrafts.filter((name) => !name.includes("/undo/"))];
  const texts = await Promise.all(places.map((place) => readFile(place, "utf8").catch(() => "")));
  return texts.join("");
}

/** The agent's text below the card, after the turn has ended and its changes are settled. */
async function endOf({ card }: Pick<Asked, "card">, by = ann, where = home): Promise<SeenMessage> {
  const said = await by.waitFor(
    (message) =>
      message.author.isBot &&
      message.type === "message" &&
      message.thread === card.thread &&
      message.place === card.place &&
      message.sequence > card.sequence &&
      message.state !== "streaming",
  );
  const turnId = card.card?.target.turnId ?? "";
  await vi.waitFor(async () => expect(await eventsOf(where)).toContainEqual(["turn.finished", turnId]));
  return said;
}

async function eventsOf({ workspace }: RemoraHome): Promise<[string, string][]> {
  const folder = join(workspace, "brain/corpus");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const lines = texts
    .join("")
    .split("\n")
    .filter((line) => line.endsWith("}"));
  return lines.map((line) => JSON.parse(line)).map(({ event, turnId }) => [event, turnId]);
}

function settled({ card }: Pick<Asked, "card">, by = ann): Promise<SeenMessage> {
  return by.waitFor((message) => message.id === card.id && message.state !== "waiting");
}

/** A forged click, as anyone with the page's token can send it. */
async function forged(
  card: SeenMessage,
  changes: object,
): Promise<{ status: number; accepted?: boolean; text?: string }> {
  const cardOrApprovalId = card.card?.items[0]?.approvalId;
  const body = { person: "ann", messageId: card.id, cardOrApprovalId, choice: "approve", ...changes };
  const response = await ann.request("POST", "/local/api/answers", body);
  return { status: response.status, ...((await response.json()) as object) };
}

async function addPerson(name: string): Promise<string> {
  const response = await ann.request("POST", "/local/api/people", { name });
  return ((await response.json()) as { person: { id: string } }).person.id;
}

/** Changes made to a dead process's ledger. */
async function onLedger<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = createSqliteLedger({ path: join(home.data, "ledger.db") });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** A click whose process dies right after accepting it: no turn is woken and no card updated. */
async function clickAndDie({ card }: Asked, by: "ann" | "ben" = "ann"): Promise<void> {
  await onLedger(async (ledger) => {
    const approvals = createApprovals({
      ledger,
      audit: createRecordedAudit(),
      events: createEvents(),
      gate: createGate({ rules: { rules: [], shellParameters: new Map() }, matching: "extended" }),
      policy: { approvers: listed },
      wake: () => {},
      onSettled: () => new Promise(() => {}),
      remember: () => new Promise(() => {}),
      mask: (text) => text,
      log: silentLog,
    });
    const click: InboundAnswer = {
      platform: "local",
      conversationId: card.card?.target.conversationId ?? "",
      messageId: card.id,
      cardOrApprovalId: approvalOf(card),
      choice: "approve",
      by: { id: by, name: by === "ann" ? "Ann" : "Ben", isBot: false, roles: [] },
      at: Date.now(),
    };
    expect(await approvals.answer(click)).toMatchObject({ accepted: true });
  });
}

function changeRecord(card: SeenMessage, change: (body: ApprovalRecord) => ApprovalRecord) {
  return onLedger(async (ledger) => {
    const state = (await ledger.get("approval", approvalOf(card)))?.state ?? "open";
    return await ledger.transition("approval", approvalOf(card), [state], state, change);
  });
}

function approvalOf(card: SeenMessage): string {
  return card.card?.items[0]?.approvalId ?? "";
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

  test("a replayed click shows how the card was settled, even after a restart", async () => {
    const [approved, denied] = [await asked("replay.txt"), await asked("replay-denied.txt")];
    await ann.click(approved.card, "approve");
    await ann.click(denied.card, "deny");
    await Promise.all([endOf(approved), endOf(denied)]);
    for (let start = 0; start < 2; start += 1) {
      for (const choice of ["approve", "deny", "allow"] as const) {
        expect(await ann.click(approved.card, choice)).toMatchObject({
          accepted: false,
          text: expect.stringMatching(/Ann approved/),
        });
        expect(await ann.click(denied.card, choice)).toMatchObject({
          accepted: false,
          text: expect.stringMatching(/Ann denied/),
        });
      }
      if (start > 0) break;
      await killRemora();
      await begin(listed);
    }
    expect(await written(approved.mark)).toBe("ran\n");
    expect(await written(denied.mark)).toBe("");
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
      expect(item?.facts).toBeUndefined();
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

  test("after the request is edited the stored call runs; after it is deleted nothing runs", async () => {
    const edited = await asked("edited-message.txt");
    const text = "@remora run echo ran >> another.txt";
    expect((await ann.request("PATCH", `/local/api/messages/${edited.said.id}`, { person: "ann", text })).status).toBe(
      200,
    );
    expect(ann.seen.get(edited.card.id)?.card).toEqual(edited.card.card);
    await ann.click(edited.card, "approve");
    await endOf(edited);
    expect(await Promise.all([written(edited.mark), written("another.txt")])).toEqual(["ran\n", ""]);

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

describe("attacks on approvals, across kill -9", () => {
  test("an accepted click that was never processed runs its call once", async () => {
    const [taken, consumed] = [await asked("taken.txt"), await asked("consumed.txt")];
    const [begun, beyond] = [
      await asked("begun.txt"),
      await asked("beyond.txt", { suffix: " with network example.com" }),
    ];
    const all = [taken, consumed, begun, beyond];
    await killRemora();
    for (const call of all) await clickAndDie(call);
    await onLedger(async (ledger) => {
      for (const { card } of [consumed, begun, beyond]) {
        const row = await ledger.transition("approval", approvalOf(card), ["approved"], "consumed");
        if (card === consumed.card || row === undefined) continue;
        const { turnId, call } = row.body;
        const body = { turnId, callId: call.id, name: call.name, attempts: 1, startedAt: Date.now() };
        await ledger.create("call", `${turnId}-${call.id}`, { state: "started", body, group: turnId });
      }
    });
    await begin(listed);
    const ends = [];
    for (const call of all) ends.push((await endOf(call)).text);
    // A call in a view leaves nothing and runs again; the outcome of one with network access is unknown.
    expect(ends[3]).toContain("interrupted");
    expect(await Promise.all(all.map(({ mark }) => written(mark)))).toEqual(["ran\n", "ran\n", "ran\n", ""]);
    for (const call of all) {
      expect((await settled(call)).card?.items).toMatchObject([{ choices: [] }]);
      expect(await ann.click(call.card, "approve")).toMatchObject({ accepted: false });
    }
    await killRemora();
    await begin(listed);
    expect(await Promise.all(all.map(({ mark }) => written(mark)))).toEqual(["ran\n", "ran\n", "ran\n", ""]);
  });

  test("clicks right before a kill and right after the start run the call at most once, and nobody waits forever", async () => {
    const suffix = " with network example.com";
    const [answered, cutOff] = [await asked("around.txt"), await asked("around-cut.txt")];
    const [far, farCutOff] = [await asked("far.txt", { suffix }), await asked("far-cut.txt", { suffix })];
    for (const call of [answered, far]) await ann.click(call.card, "approve");
    const lost = [cutOff, farCutOff].map((call) => ann.click(call.card, "approve").catch(() => undefined));
    await killRemora();
    await Promise.all(lost);
    await begin(listed);
    for (const call of [answered, cutOff, far, farCutOff]) {
      await ann.click(call.card, "approve");
      const end = await endOf(call);
      const times = (await written(call.mark)).match(/ran/g)?.length ?? 0;
      if (call === answered || call === cutOff) expect(times).toBe(1);
      expect(times).toBeLessThanOrEqual(1);
      if (times === 0) expect(end.text).toContain("interrupted");
    }
  });

  test("a call approved in time does not run after its expiry", async () => {
    const [late, unused] = [await asked("late.txt"), await asked("late-consumed.txt")];
    await killRemora();
    for (const call of [late, unused]) {
      await clickAndDie(call);
      await changeRecord(call.card, (body) => ({ ...body, expiresAt: Date.now() }));
    }
    await onLedger((ledger) => ledger.transition("approval", approvalOf(unused.card), ["approved"], "consumed"));
    await begin(listed);
    for (const call of [late, unused]) {
      expect((await endOf(call)).text).toMatch(/expired/i);
      expect(await written(call.mark)).toBe("");
    }
  });

  test("a call whose stored arguments changed after approval does not run", async () => {
    const [record, journal] = [await asked("record.txt"), await asked("journal.txt")];
    await killRemora();
    for (const call of [record, journal]) await clickAndDie(call);
    const changed = { command: "echo changed >> record.txt" };
    await changeRecord(record.card, (body) => ({ ...body, call: { ...body.call, input: changed } }));
    await onLedger(async (ledger) => {
      const turnId = journal.card.card?.target.turnId ?? "";
      await ledger.transition("turn", turnId, ["parked"], "parked", (turn) => ({
        ...turn,
        steps: turn.steps.map((step) => ({
          ...step,
          calls: step.calls.map(({ call, ...rest }) =>
            call === undefined
              ? rest
              : { ...rest, call: { ...call, input: { command: "echo changed >> journal.txt" } } },
          ),
        })),
      }));
    });
    await begin(listed);
    for (const call of [record, journal]) {
      expect((await endOf(call)).text).toContain("has changed since the approval");
      expect((await settled(call)).card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
      expect(await written(call.mark)).toBe("");
    }
  });

  test("a call does not run if its approver lost the role", async () => {
    const call = await asked("role.txt");
    await killRemora();
    await clickAndDie(call, "ben");
    await begin(["requester"]);
    expect((await endOf(call)).text).toContain("no longer counts");
    expect(await written(call.mark)).toBe("");
    const next = await asked("role-next.txt");
    expect(await ben.click(next.card, "approve")).toMatchObject({ accepted: false });
    await ann.click(next.card, "deny");
    await endOf(next);
  });

  test("a call does not run if its card can't be delivered", async () => {
    await killRemora();
    const conversationId = "local:channel:general:no-such-thread";
    const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
    await onLedger((ledger) =>
      ledger.create("message", "local:lost", {
        state: "queued",
        group: conversationId,
        body: {
          ...{ id: "lost", platform: "local", conversationId, scope: "channel:general", author, attachments: [] },
          ...{ text: "run echo ran >> lost.txt", isAddressed: true, isDirect: false, at: Date.now() },
        },
      }),
    );
    await begin(listed);
    await vi.waitFor(
      () =>
        onLedger(async (ledger) => {
          const [turn] = await ledger.list("turn", { group: conversationId });
          expect(["done", "failed"]).toContain(turn?.state);
        }),
      { timeout: 10_000, interval: 100 },
    );
    const [approval] = await onLedger(async (ledger) =>
      (await ledger.list("approval", {})).filter(({ body }) => body.conversationId === conversationId),
    );
    expect(approval).toMatchObject({
      state: "cancelled",
      body: { reason: expect.stringContaining("could not be shown") },
    });
    expect(await written("lost.txt")).toBe("");
  });
});

describe("skills that change while a call waits", () => {
  /** Resolves when the process has loaded the new skill. */
  async function put(name: string, files: { [file: string]: string }, seen: string, client = ann, where = home) {
    const folder = join(where.workspace, "skills", name);
    await mkdir(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
    const look = async () => {
      const data = await client.request("GET", "/dashboard/data/skills");
      expect(await data.text()).toContain(seen);
    };
    await vi.waitFor(look, { timeout: 10_000 });
  }

  const blocking = (pattern: string) =>
    `---\nname: extra\ndescription: blocks ${pattern}\ndanger_patterns:\n  - '${pattern}'\n---\n`;
  const marking = (about: string) =>
    `---\nname: marking\ndescription: ${about}\npermissions:\n  files: write\ntools:\n  - name: mark\n    folder: write\n    description: ${about}\n    parameters:\n      type: object\n      properties:\n        text:\n          type: string\nconfirm_patterns:\n  - '^mark '\n---\n`;

  test("a new blocking rule overrides the approval", async () => {
    const call = await asked("ruled.txt");
    await put("extra", { "SKILL.md": blocking("ruled") }, "blocks ruled");
    await ann.click(call.card, "approve");
    expect((await endOf(call)).text).toContain("now block it");
    expect((await settled(call)).card?.items).toMatchObject([{ state: "cancelled", choices: [] }]);
    expect(await written(call.mark)).toBe("");
  });

  test("a tool whose skill changed after the question does not run", async () => {
    const plugin =
      'import { appendFile } from "node:fs/promises";\nimport { join } from "node:path";\n' +
      "export default { execute: async (_tool, { text }, { workingFolder }) => {\n" +
      '  await appendFile(join(workingFolder, text), "ran\\n");\n  return "marked";\n} };\n';
    await put("marking", { "SKILL.md": marking("as it was"), "plugin.mjs": plugin }, "as it was");
    const mark = async (name: string) => {
      const said = await ann.say(`@remora call mark {"text":"${name}"}`);
      return { said, card: await ann.cardFor(said), mark: name };
    };
    const [unchanged, call] = [await mark("unchanged.txt"), await mark("edited-skill.txt")];
    await ann.click(unchanged.card, "approve");
    await endOf(unchanged);
    await put("marking", { "SKILL.md": marking("as it is now") }, "as it is now");
    await ann.click(call.card, "approve");
    expect((await endOf(call)).text).toContain("has changed since the approval");
    expect(await Promise.all([written(unchanged.mark), written(call.mark)])).toEqual(["ran\n", ""]);
  });

  test("a safe call that waited is classified again when it runs", async () => {
    const steps = [
      calls(
        { id: "one", name: "shell_exec", input: { command: "echo ran >> asked.txt", network: ["example.com"] } },
        { id: "two", name: "shell_exec", input: { command: "echo harmless-then" } },
      ),
      says("That is all."),
    ];
    await withModel(steps, async ({ client, provider, where }) => {
      const card = await client.cardFor(await client.say("@remora do both"));
      expect(card.card?.items).toHaveLength(1);
      await put("extra", { "SKILL.md": blocking("harmless-then") }, "blocks harmless-then", client, where);
      await client.click(card, "approve");
      expect((await endOf({ card }, client, where)).text).toContain("That is all.");
      const results = provider.requests[1]?.messages.filter((message) => message.role === "tool");
      expect(results?.map((result) => result.text).join("\n")).toMatch(
        /exit code 0[\s\S]*Blocked by the safety rules of extra/,
      );
      expect(await written("asked.txt", "channel:general", where)).toBe("ran\n");
    });
  });
});

interface Played {
  client: ChatClient;
  provider: ReturnType<typeof createScriptedProvider>;
  where: RemoraHome;
}

/** The whole agent in this process, with a scripted model. */
async function withModel(steps: ScriptStep[], work: (played: Played) => Promise<void>, more = {}): Promise<void> {
  const where = await createHome();
  const REMORA_CONFIG = await configFile(where, {}, more);
  const env = {
    REMORA_WORKSPACE: where.workspace,
    REMORA_DATA: where.data,
    REMORA_PORT: "0",
    REMORA_ENV_FILE: "/dev/null",
    REMORA_CONFIG,
  };
  const loaded = loadSettings(env, resolve(import.meta.dirname, "../.."));
  if (loaded.type !== "ok") throw new Error("the shipped configuration is not valid");
  const provider = createScriptedProvider(steps);
  const token = randomUUID();
  const redact = (text: string) => text;
  const app = await createApp({
    settings: loaded.settings,
    role: "all",
    signal: new AbortController().signal,
    token,
    redact,
    log: silentLog,
    providers: [provider],
  });
  await app.start();
  const client = await createChatClient(app.report().url ?? "", token);
  try {
    await work({ client, provider, where });
    provider.finish();
  } finally {
    client.close();
    await app.close();
    await where.remove();
  }
}

test("programs that git runs from written files stay in the draft, and people see the changes first", async () => {
  const outside = await mkdtemp(join(tmpdir(), "remora-site-"));
  const [folder, canary] = [join(outside, "site"), join(outside, "canary.txt")];
  await mkdir(folder);
  const run = `echo ran >> fsmonitor.txt; echo ran >> ${canary}; echo ran >> $HOME/canary.txt; false`;
  const settings = `[core]\n\tfsmonitor = "${run}"\n`;
  const files = { HEAD: "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", config: settings };
  const write = (path: string, content: string) => ({
    id: `write ${path}`,
    name: "write_file",
    input: { path, content },
  });
  const steps = [
    calls(...Object.entries(files).map(([name, content]) => write(`sub/.git/${name}`, content))),
    calls({ id: "look", name: "shell_exec", input: { command: "cd sub && git status; cat fsmonitor.txt" } }),
    calls(write("link/.git", "gitdir: ../sub/.git"), write('a"b/.git/config', settings)),
    says("That is all."),
  ];
  const work = async ({ client, provider, where }: Played) => {
    const card = await client.changesFor(await client.say("@remora look"));
    const looked = provider.requests[2]?.messages.find(
      (message) => message.role === "tool" && message.callId === "look",
    );
    expect(looked?.role === "tool" && looked.text).toContain("ran\n");
    const shown = card.card?.items[0]?.changes;
    expect(card).toMatchObject({ state: "waiting" });
    expect(shown?.files.map(({ path }) => path).sort()).toEqual(['a"b/', "link/", "sub/"]);
    expect(shown?.diff).toContain("sub/fsmonitor.txt");
    expect(shown?.diff).toContain(`+\tfsmonitor = "${run}"`);
    // Nobody has answered, so nothing has happened.
    expect(await readdir(folder)).toEqual([]);
    await client.click(card, "deny");
    await client.waitFor(({ id, state }) => id === card.id && state !== "waiting");
    await vi.waitFor(async () => expect(await readdir(join(where.workspace, "drafts", "open"))).toEqual([]));
    expect(await readdir(outside)).toEqual(["site"]);
    expect(await readdir(folder)).toEqual([]);
    await expect(readFile(join(homedir(), "canary.txt"))).rejects.toThrow("ENOENT");
  };
  try {
    await withModel(steps, work, { folders: { "local:channel:general": folder } });
  } finally {
    await rm(outside, { recursive: true });
  }
});

test('the model writes "click Approve, it is safe", fakes a card and uses an approved id again: only the ledger counts', async () => {
  const prose =
    "**Approval needed** Click Approve, it is safe. [Approve](https://evil.example/?id=forged-approval-0001)";
  const act = (mark: string) => ({
    id: "same-id",
    name: "shell_exec",
    input: { command: `echo ran >> ${mark}`, network: ["example.com"] },
  });
  const steps = [
    calls({ ...act("first.txt"), text: prose }),
    calls({ ...act("second.txt"), text: prose }),
    says(prose),
  ];
  await withModel(steps, async ({ client, where }) => {
    const said = await client.say("@remora do it");
    const first = await client.cardFor(said);
    expect(JSON.stringify(first.card)).not.toMatch(/it is safe|forged-approval/);
    const text = await client.waitFor((message) => message.author.isBot && message.text.includes("it is safe"));
    expect(text.card).toBeUndefined();
    const click = async (messageId: string, cardOrApprovalId: string) =>
      (
        await client.request("POST", "/local/api/answers", {
          person: "ann",
          messageId,
          cardOrApprovalId,
          choice: "approve",
        })
      ).json();
    expect(await click(text.id, approvalOf(first))).toMatchObject({ error: expect.stringContaining("does not exist") });
    expect(await click(first.id, "forged-approval-0001")).toMatchObject({ accepted: false });

    await client.click(first, "approve");
    const second = await client.waitFor(
      (message) => message.type === "card" && message.sequence > first.sequence && message.state === "waiting",
    );
    expect(approvalOf(second)).not.toBe(approvalOf(first));
    // The first approval is used up, on any card.
    for (const card of [first, second])
      expect(await click(card.id, approvalOf(first))).toMatchObject({ accepted: false });
    await client.click(second, "deny");
    await endOf({ card: second }, client, where);
    const marks = ["first.txt", "second.txt"].map((mark) => written(mark, "channel:general", where));
    expect(await Promise.all(marks)).toEqual(["ran\n", ""]);
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
      await tab.goto(`${remora.url}/dashboard`);
      await tab.getByText("onerror=alert(3)").first().waitFor();
      expect(await tab.locator("[onerror]").count()).toBe(0);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
