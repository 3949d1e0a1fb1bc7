/**
 * The routes to sign in and out. The guard lets `/sign-in` through without a session, after it has checked the host.
 *
 *   GET  /sign-in                    the page
 *   POST /sign-in/password           name and password of a local account
 *   GET  /sign-in/:service           begins at Slack, Discord or the identity provider
 *   GET  /sign-in/callback/:service  comes back from there
 *   POST /sign-out, /sign-out/everywhere   need the session, like every other action
 */
import type { Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ReadBody } from "../../lib/read-body.ts";
import type { SessionRecord } from "../../ports/account.ts";
import type { Audit } from "../../ports/audit.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { identityOf, type SignedInPerson } from "../../ports/visitor.ts";
import { addressKey } from "../client.ts";
import type { Place } from "../place.ts";
import type { Accounts } from "./accounts.ts";
import { type AttemptKey, createAttempts } from "./attempts.ts";
import { type Cookies, flowCookieSeconds } from "./cookies.ts";
import { accountName } from "./local-accounts.ts";
import { maxPasswordCharacters } from "./passwords.ts";
import { safePath } from "./safe-path.ts";
import { NotAdmitted, type ServiceName, type SignedIn } from "./services.ts";
import { hashOf, newSecret, sessionCookieSeconds } from "./sessions.ts";
import { showNotAdmitted, showSignIn } from "./sign-in-page.ts";

export interface SignInOptions {
  accounts: Accounts;
  ledger: Ledger;
  audit: Audit;
  log: Log;
  placeOf(context: Context): Place;
  readBody: ReadBody;
  cookiesOf(context: Context): Cookies;
  now?: () => number;
}

const maxFormBytes = 8 * 1024;
const maxSignInMs = flowCookieSeconds * 1_000;
/** In 15 minutes, per address and per account. */
const maxPerAddress = 10;
const maxPerAccount = 30;
const maxFlowsPerAddress = 30;
/** Each check of a password takes 32 MiB for a tenth of a second. */
const maxChecksAtOnce = 4;

const form = z.object({
  name: z.string().trim().toLowerCase().max(100),
  password: z.string().min(1).max(maxPasswordCharacters),
  to: z.string().max(2_000).optional(),
});
const wrong = "The name or the password is wrong.";
const otherSite = "This form was sent by another page. Sign in here.";
const staleFlow = "This attempt to sign in is too old, was used already, or began in another browser. Try again.";

export function mountSignIn(app: Hono, options: SignInOptions): void {
  const { accounts, ledger, audit, log, placeOf, readBody, cookiesOf, now = Date.now } = options;
  const attempts = createAttempts(now);
  let checks = 0;

  async function show(context: Context, to: string, problem?: string, status?: 400 | 401 | 429 | 502) {
    const hasPasswords = (await accounts.local.list()).length > 0;
    const services = accounts.services.list();
    return showSignIn(context, { services, hasPasswords, to, ...(problem === undefined ? {} : { problem }) }, status);
  }

  /** The earlier session of this browser ends, so nobody can plant one. */
  async function admit(
    context: Context,
    { person, ...checked }: SignedIn & Pick<SessionRecord, "validFrom">,
    to: string,
  ): Promise<Response> {
    const role = await accounts.roleOf(person, { createdAt: now(), ...checked });
    if (role === undefined) return showNotAdmitted(context, identityOf(person));
    await audit.record("session.changed", { identity: identityOf(person), name: person.name, change: "signed-in" });
    const cookies = cookiesOf(context);
    const before = getCookie(context, cookies.session);
    if (before !== undefined) await accounts.sessions.end(hashOf(before));
    setCookie(context, cookies.session, await accounts.sessions.begin(person, checked), {
      ...cookies.options,
      maxAge: sessionCookieSeconds,
    });
    context.header("Cache-Control", "no-store");
    return context.redirect(to, 303);
  }

  app.get("/sign-in", (context) => show(context, safePath(context.req.query("to"))));

  app.post("/sign-in/password", async (context) => {
    const body = await readBody(context, maxFormBytes);
    if (!Buffer.isBuffer(body)) {
      const isTooLarge = body.status === 413;
      return await show(context, safePath(undefined), isTooLarge ? wrong : tooMany(0), isTooLarge ? 400 : 429);
    }
    const parsed = form.safeParse(Object.fromEntries(new URLSearchParams(body.toString())));
    const to = safePath(parsed.data?.to);
    const place = placeOf(context);
    if (place.type === "refused" || context.req.header("origin") !== place.origin)
      return await show(context, to, otherSite, 400);
    if (!parsed.success) return await show(context, to, wrong, 401);
    const { name, password } = parsed.data;
    const isKnownForm = accountName.test(name);
    const accountKey = `account ${isKnownForm ? name : ""}`;
    const keys: AttemptKey[] = [
      { key: `address ${addressKey(place.client.address)}`, max: maxPerAddress },
      { key: accountKey, max: maxPerAccount },
    ];
    const waitMs = attempts.begin(keys);
    if (waitMs > 0 || checks >= maxChecksAtOnce) return await show(context, to, tooMany(waitMs), 429);
    checks += 1;
    const account = await accounts.local.check(name, password).finally(() => {
      checks -= 1;
    });
    if (account === undefined) {
      // What was typed as a name may be a password.
      const isKnown = (await accounts.local.get(name)) !== undefined;
      const address = place.client.address ?? "unknown";
      log.warn({ address, ...(isKnown ? { account: name } : {}) }, "a sign-in with a wrong password");
      return await show(context, to, wrong, 401);
    }
    for (const { key } of keys) attempts.forgive(key);
    const person: SignedInPerson = { platform: "account", id: account.name, name: account.name };
    return await admit(context, { person, validFrom: account.validFrom }, to);
  });

  const serviceOf = (context: Context): ServiceName | undefined =>
    accounts.services.list().find(({ service }) => service === context.req.param("service"))?.service;

  app.get("/sign-in/:service", async (context) => {
    const service = serviceOf(context);
    const to = safePath(context.req.query("to"));
    if (service === undefined) return context.notFound();
    const waitMs = attempts.begin([
      { key: `flow ${addressKey(placeOf(context).client.address)}`, max: maxFlowsPerAddress },
    ]);
    if (waitMs > 0) return await show(context, to, tooMany(waitMs), 429);
    try {
      const secrets = await accounts.services.secrets();
      const address = await accounts.services.address(service, secrets);
      const browser = newSecret();
      const { nonce, verifier } = secrets;
      const body = { platform: service, browser: hashOf(browser), nonce, verifier, to, createdAt: now() };
      await ledger.create("sign-in", hashOf(secrets.state), { state: "open", body, group: service });
      const cookies = cookiesOf(context);
      setCookie(context, cookies.flow, browser, { ...cookies.options, maxAge: flowCookieSeconds });
      context.header("Cache-Control", "no-store");
      return context.redirect(address, 303);
    } catch (thrown) {
      log.warn({ service, error: messageOf(thrown) }, "could not begin to sign in");
      return await show(context, to, `${nameOf(accounts, service)} can't be reached. Try again in a moment.`, 502);
    }
  });

  app.get("/sign-in/callback/:service", async (context) => {
    const service = serviceOf(context);
    if (service === undefined) return context.notFound();
    const cookies = cookiesOf(context);
    const browser = getCookie(context, cookies.flow);
    const state = context.req.query("state") ?? "";
    const record = await takeFlow(state, browser, service);
    if (record === undefined) return await show(context, safePath(undefined), staleFlow, 400);
    deleteCookie(context, cookies.flow, cookies.options);
    if (context.req.query("error") !== undefined)
      return await show(
        context,
        record.to,
        `${nameOf(accounts, service)} did not sign you in. Try again, or ask the person who runs Remora.`,
        401,
      );
    try {
      const { nonce, verifier } = record;
      const signedIn = await accounts.services.finish(service, new URL(context.req.url).search, {
        state,
        nonce,
        verifier,
      });
      return await admit(context, signedIn, record.to);
    } catch (thrown) {
      if (thrown instanceof NotAdmitted) return await show(context, record.to, thrown.message, 401);
      log.warn({ service, error: messageOf(thrown) }, "a sign-in was refused");
      return await show(
        context,
        record.to,
        `The answer of ${nameOf(accounts, service)} could not be verified. Try again.`,
        401,
      );
    }
  });

  /** Each attempt is used once, even if it then fails. */
  async function takeFlow(state: string, browser: string | undefined, service: ServiceName) {
    if (browser === undefined) return undefined;
    const isOwn = (found: { browser: string; platform: string; createdAt: number }) =>
      found.browser === hashOf(browser) && found.platform === service && now() - found.createdAt <= maxSignInMs;
    const used = await ledger.transition("sign-in", hashOf(state), ["open"], "used", (body) =>
      isOwn(body) ? body : undefined,
    );
    return used?.body;
  }

  mountSignOut(app, options);
}

function mountSignOut(app: Hono, { accounts, audit, cookiesOf }: SignInOptions): void {
  const signOut = async (context: Context, isEverywhere: boolean) => {
    const visitor = context.get("visitor");
    if (visitor?.type !== "person") return context.json({ accepted: false, text: "You are not signed in." }, 400);
    const { person, sessionId } = visitor;
    if (isEverywhere) await accounts.sessions.endAll(identityOf(person));
    else await accounts.sessions.end(sessionId);
    const cookies = cookiesOf(context);
    deleteCookie(context, cookies.session, cookies.options);
    const change = isEverywhere ? "signed-out-everywhere" : "signed-out";
    await audit.record("session.changed", { identity: identityOf(person), name: person.name, change });
    return context.json({ accepted: true, text: isEverywhere ? "Signed out on all devices." : "Signed out." });
  };
  app.post("/sign-out", (context) => signOut(context, false));
  app.post("/sign-out/everywhere", (context) => signOut(context, true));
}

function tooMany(waitMs: number): string {
  const minutes = Math.ceil(waitMs / 60_000);
  const wait = minutes === 0 ? "in a moment" : minutes === 1 ? "in a minute" : `in ${minutes} minutes`;
  return `There were too many attempts to sign in. Try again ${wait}.`;
}

function nameOf(accounts: Accounts, service: ServiceName): string {
  return accounts.services.list().find((one) => one.service === service)?.name ?? service;
}
