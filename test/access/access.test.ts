import { beforeEach, describe, expect, test } from "vitest";
import { type AccessRules, createAccess } from "../../src/access/access.ts";
import type { Author } from "../../src/ports/message.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { atOnce } from "../doubles/at-once.ts";

const everyone: AccessRules = {
  ...{ users: null, roles: null, channels: null, spaces: null },
  ...{ dms: "open", guests: false, externals: false, bots: [], botTurns: 2 },
};
const ann: Author = { id: "U1", name: "Ann", isBot: false, roles: [] };
const ben: Author = { id: "U2", name: "Ben", isBot: false, roles: ["R1"] };
const bot: Author = { id: "B1", name: "Other bot", isBot: true, roles: [] };

let now: number;
let ledger: ReturnType<typeof createSqliteLedger>;
beforeEach(() => {
  now = 1_800_000_000_000;
  ledger = createSqliteLedger({ path: ":memory:" });
});

function accessWith(rules: Partial<AccessRules>, owners: string[] = []) {
  return createAccess({
    rules: { discord: { ...everyone, ...rules } },
    ledger,
    isOwner: (_platform, person) => owners.includes(person.id),
    now: () => now,
  });
}

function inChannel(author: Author, where: { channelId?: string; spaceId?: string } = {}) {
  const at = { channelId: "C1", spaceId: "G1", ...where };
  return { platform: "discord", conversationId: "discord:G1:C1:T1", isDirect: false, author, ...at };
}

function direct(author: Author) {
  return { platform: "discord", conversationId: `discord:dm:${author.id}`, isDirect: true, author };
}

function command(by: Author, rest: string) {
  return {
    ...{ platform: "discord", conversationId: "discord:G1:C1", scope: "channel:C1" as const, name: "pair" },
    ...{ rest, by, at: now },
  };
}

describe("who may talk", () => {
  test("without lists everyone may, in channels and directly", async () => {
    const access = accessWith({});
    expect(await access.check(inChannel(ann))).toEqual({ type: "allowed" });
    expect(await access.check(direct(ann))).toEqual({ type: "allowed" });
  });

  test("a list of people or roles lets in whoever is in either, and an empty one nobody", async () => {
    const access = accessWith({ users: ["U1"], roles: ["R1"] });
    expect((await access.check(inChannel(ann))).type).toBe("allowed");
    expect((await access.check(inChannel(ben))).type).toBe("allowed");
    expect((await access.check(inChannel({ ...ben, roles: [] }))).type).toBe("refused");
    expect((await accessWith({ users: [] }).check(inChannel(ann))).type).toBe("refused");
    expect((await accessWith({ users: [] }).check(direct(ann))).type).toBe("refused");
  });

  test("lists of channels and servers hold in channels, threads count as their channel", async () => {
    const access = accessWith({ channels: ["C1"], spaces: ["G1"] });
    expect((await access.check(inChannel(ann))).type).toBe("allowed");
    expect((await access.check(inChannel(ann, { channelId: "C2" }))).type).toBe("refused");
    expect((await access.check(inChannel(ann, { spaceId: "G2" }))).type).toBe("refused");
    expect((await access.check(direct(ann))).type).toBe("allowed");
  });

  test("guests and people of other workspaces are out unless they are let in", async () => {
    expect((await accessWith({}).check(inChannel({ ...ann, kind: "guest" }))).type).toBe("refused");
    expect((await accessWith({}).check(inChannel({ ...ann, kind: "external" }))).type).toBe("refused");
    expect((await accessWith({ guests: true }).check(inChannel({ ...ann, kind: "guest" }))).type).toBe("allowed");
    expect((await accessWith({ externals: true }).check(direct({ ...ann, kind: "external" }))).type).toBe("allowed");
  });

  test("owners are never shut out", async () => {
    const access = accessWith({ users: [], dms: "closed", channels: [] }, ["U1"]);
    expect((await access.check(inChannel(ann))).type).toBe("allowed");
    expect((await access.check(direct(ann))).type).toBe("allowed");
  });

  test("a refused person is told why once an hour", async () => {
    const access = accessWith({ dms: "closed" });
    expect(await access.check(direct(ann))).toMatchObject({ notice: { text: expect.stringContaining("closed") } });
    expect(await access.check(direct(ann))).not.toHaveProperty("notice");
    expect(await access.check(direct(ben))).toHaveProperty("notice");
    now += 3_600_000;
    expect(await access.check(direct(ann))).toHaveProperty("notice");
  });

  test("a platform without rules is open", async () => {
    expect((await accessWith({ users: [] }).check({ ...inChannel(ann), platform: "local" })).type).toBe("allowed");
  });
});

describe("bots", () => {
  async function said(author: Author, id: string): Promise<void> {
    const visit = inChannel(author);
    const body = {
      ...visit,
      id,
      scope: "channel:C1" as const,
      text: "hi",
      attachments: [],
      isAddressed: true,
      at: now,
    };
    await ledger.create("message", `discord:${id}`, { state: "answered", body, group: visit.conversationId });
  }

  test("are ignored without a word, unless they are named", async () => {
    expect(await accessWith({}).check(inChannel(bot))).toEqual({ type: "refused", why: "bots are not answered" });
    expect((await accessWith({ bots: ["B1"] }).check(inChannel(bot))).type).toBe("allowed");
  });

  test("that answer each other are left alone after so many messages in a row, until a person speaks", async () => {
    const access = accessWith({ bots: ["B1"] });
    await said(bot, "1");
    expect((await access.check(inChannel(bot))).type).toBe("allowed");
    await said(bot, "2");
    expect(await access.check(inChannel(bot))).toMatchObject({
      type: "refused",
      why: "a bot has written 2 times in a row",
    });
    await said(ann, "3");
    expect((await access.check(inChannel(bot))).type).toBe("allowed");
  });
});

describe("pairing", () => {
  async function codeOf(access: ReturnType<typeof accessWith>, person: Author): Promise<string> {
    const verdict = await access.check(direct(person));
    const [, code = ""] =
      /pair ([A-Z0-9]{8})/.exec(verdict.type === "refused" ? (verdict.notice?.text ?? "") : "") ?? [];
    return code;
  }

  test("a stranger gets a code; once somebody else has confirmed it they may talk", async () => {
    const access = accessWith({ dms: "pairing" });
    const code = await codeOf(access, ann);
    expect(code).toHaveLength(8);
    expect(await codeOf(access, ann)).toBe(code);
    expect(await access.command.run(command(ben, code.toLowerCase()))).toContain("Ann may write");
    expect((await access.check(direct(ann))).type).toBe("allowed");
    expect((await access.check(direct(ben))).type).toBe("refused");
  });

  test("nobody confirms their own code", async () => {
    const access = accessWith({ dms: "pairing" });
    expect(await access.command.run(command(ann, await codeOf(access, ann)))).toContain("Somebody else");
    expect((await access.check(direct(ann))).type).toBe("refused");
  });

  test("a code expires, and a new one is shown", async () => {
    const access = accessWith({ dms: "pairing" });
    const code = await codeOf(access, ann);
    now += 15 * 60_000;
    expect(await access.command.run(command(ben, code))).toContain("no such code");
    const next = await codeOf(access, ann);
    expect(next).not.toBe(code);
    expect(await access.command.run(command(ben, next))).toContain("Ann may write");
  });

  test("codes can't be guessed: after five wrong ones the right one does not count either", async () => {
    const access = accessWith({ dms: "pairing" });
    const code = await codeOf(access, ann);
    for (let count = 0; count < 5; count++) await access.command.run(command(ben, `WRONG${count}`));
    expect(await access.command.run(command(ben, code))).toContain("Too many");
    expect((await access.check(direct(ann))).type).toBe("refused");
    now += 3_600_000;
    expect(await access.command.run(command(ben, await codeOf(access, ann)))).toContain("Ann may write");
  });

  test("twenty guesses at a code at the same instant count as twenty, so the right one among them does not count", async () => {
    const access = accessWith({ dms: "pairing" });
    const code = await codeOf(access, ann);
    const guesses = [...Array.from({ length: 19 }, (_, index) => `WRONG${index}`), code];
    const { done } = await atOnce(guesses.length, (index) => access.command.run(command(ben, guesses[index] ?? "")));
    expect(done.filter((text) => text.includes("Too many"))).toHaveLength(15);
    expect((await access.check(direct(ann))).type).toBe("refused");
  });

  test("a person on the list needs no code", async () => {
    expect((await accessWith({ dms: "pairing", users: ["U1"] }).check(direct(ann))).type).toBe("allowed");
  });
});
