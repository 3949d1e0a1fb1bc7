/** Two processes on one Redis: whoever signs in at one is signed in at the other, and out at both. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { openLedger } from "../../src/storage/open-state.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { cookieIn, password } from "./accounts-world.ts";
import {
  createProviders,
  createSignInWorld,
  identities,
  kinds,
  type Providers,
  type SignInWorld,
} from "./sign-in-world.ts";

describe.skipIf(missingRedis !== undefined)(`accounts on Redis${redisNote}`, () => {
  let redis: RedisServer;
  let providers: Providers;
  let ledgers: Ledger[];
  let one: SignInWorld;
  let two: SignInWorld;

  beforeAll(async () => {
    [redis, providers] = await Promise.all([startRedisServer(), createProviders()]);
    const settings = { url: redis.url, prefix: "remora", lockMs: 30_000, waitMs: 30_000, journals: "/nowhere" };
    const open = () => openLedger({ data: "/nowhere", redis: settings, log: silentLog });
    ledgers = await Promise.all([open(), open()]);
    const [first, second] = ledgers as [Ledger, Ledger];
    one = await createSignInWorld(providers, { ledger: first });
    two = await createSignInWorld(providers, { ledger: second });
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await Promise.all(kinds.map((kind) => providers[kind].close()));
    await redis.dispose();
  });

  const statusAt = async (world: SignInWorld, cookie: string) =>
    (await world.ask("GET", "/dashboard/data/me", { cookie })).status;

  test("a session is valid in both, and ends in both with sign-out, a new password and a removed account", async () => {
    expect(await one.accounts.local.add("cara", "approver", password)).toBe(true);
    expect(await two.accounts.local.add("cara", "viewer", password)).toBe(false);
    const cookie = cookieIn(await two.signIn("cara"));
    expect([await statusAt(one, cookie), await statusAt(two, cookie)]).toEqual([200, 200]);
    await one.accounts.sessions.endAll("account:cara");
    expect([await statusAt(one, cookie), await statusAt(two, cookie)]).toEqual([401, 401]);

    const again = cookieIn(await one.signIn("cara"));
    one.now.at += 1_000;
    await one.accounts.local.setPassword("cara", "another long password");
    expect(await statusAt(two, again)).toBe(401);
    expect((await two.signIn("cara")).status).toBe(401);

    two.now.at = one.now.at;
    const last = cookieIn(await two.signIn("cara", "another long password"));
    expect(await statusAt(one, last)).toBe(200);
    await two.accounts.local.remove("cara");
    expect([await statusAt(one, last), await statusAt(two, last)]).toEqual([401, 401]);
    expect((await one.signIn("cara", "another long password")).status).toBe(401);
  });

  test("a sign-in may begin at one and come back to the other, once", async () => {
    for (const kind of kinds) {
      const { cookie, address } = await one.begin(kind);
      const back = await one.visit(address);
      const answers = await Promise.all([two.comeBack(back, cookie), one.comeBack(back, cookie)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 400]);
      const session = cookieIn(answers.find(({ status }) => status === 303) ?? answers[0]);
      expect([await statusAt(one, session), await statusAt(two, session)]).toEqual([200, 200]);
      expect(await two.accounts.sessions.endAll(identities[kind])).toBe(1);
      expect(await statusAt(one, session)).toBe(401);
    }
  });
});
