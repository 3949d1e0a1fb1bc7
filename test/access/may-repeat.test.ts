/** Whether a click may start a request again. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AccessRules, createAccess } from "../../src/access/access.ts";
import { createBarredBecause, createMayRepeat } from "../../src/access/may-repeat.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Author } from "../../src/ports/message.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";

const ann: Author = { id: "ann", name: "Ann", isBot: false, roles: ["staff"] };
const ben: Author = { id: "ben", name: "Ben", isBot: false, roles: [] };
const open: AccessRules = {
  ...{ users: null, roles: null, channels: null, spaces: null, dms: "open", guests: true, externals: true },
  ...{ bots: [], botTurns: 1 },
};
let ledger: Ledger;

beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(() => ledger.close());

async function verdictOf(rules: Partial<AccessRules>, { now = ann, clickedBy = ann, isDirect = false } = {}) {
  const access = createAccess({ rules: { test: { ...open, ...rules } }, ledger, isOwner: () => false });
  const barredBecause = createBarredBecause(access);
  const mayRepeat = createMayRepeat({ barredBecause, personNow: async () => (now.id === "" ? undefined : now) });
  const message = inboundMessage({ author: ann, isDirect, channelId: "c1" });
  return await mayRepeat(turnRecord({ messages: [message] }), clickedBy);
}

test("the requester's rights of now count, not those of the request", async () => {
  expect(await verdictOf({ roles: ["staff"] })).toEqual({ type: "allowed", requester: ann });
  const moved = { ...ann, roles: [] };
  expect(await verdictOf({ roles: ["staff"] }, { now: moved })).toMatchObject({ type: "refused" });
  expect(await verdictOf({}, { now: moved })).toEqual({ type: "allowed", requester: moved });
  expect(await verdictOf({ channels: ["c2"] })).toMatchObject({ type: "refused" });
});

test("nobody starts a request of somebody who has left", async () => {
  const left = await verdictOf({}, { now: { ...ann, id: "" }, clickedBy: ben });
  expect(left).toEqual({ type: "refused", text: "Ann is no longer here, so nothing was started." });
});

test("a pairing code is shown only to its owner", async () => {
  const own = await verdictOf({ dms: "pairing" }, { isDirect: true });
  expect(own).toMatchObject({ type: "refused", text: expect.stringContaining("/remora pair ") });
  const other = await verdictOf({ dms: "pairing" }, { isDirect: true, clickedBy: ben });
  expect(other).toEqual({ type: "refused", text: "Ann may not use me here any more, so nothing was started." });
});
