/**
 * The routes to sign in and out. The guard lets `/sign-in` through without a session, after it has checked the host.
 *
 *   GET  /sign-in                    the page
 *   POST /sign-in/password           name and password of a local account
 *   GET  /sign-in/:service, /sign-in/callback/:service   with a service (service-routes.ts)
 *   POST /sign-out, /sign-out/everywhere   need the session, like every other action
 */
import type { Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import type { AccountRecord } from "../../ports/account.ts";
import { identityOf } from "../../ports/visitor.ts";
import { networksOf } from "../client.ts";
import { deviceCookieSeconds, deviceIn, newDevice } from "./cookies.ts";
import { accountName } from "./local-accounts.ts";
import { createPasswordChecks } from "./password-checks.ts";
import { maxPasswordCharacters } from "./passwords.ts";
import { safePath } from "./safe-path.ts";
import { mountServiceSignIn, type SignInAnswers, type SignInOptions } from "./service-routes.ts";
import { hashOf, sessionCookieSeconds } from "./sessions.ts";
import { showNotAdmitted, showSignIn } from "./sign-in-page.ts";

const maxFormBytes = 8 * 1024;

const form = z.object({
  name: z.string().trim().toLowerCase().max(100),
  password: z.string().min(1).max(maxPasswordCharacters),
  to: z.string().max(2_000).optional(),
});
const wrong = "The name or the password is wrong.";
const otherSite = "This form was sent by another page. Sign in here.";

export function mountSignIn(app: Hono, options: SignInOptions): void {
  const { accounts, audit, log, placeOf, readBody, cookiesOf, now = Date.now } = options;
  const checks = createPasswordChecks(now);

  const show: SignInAnswers["show"] = async (context, to, problem, status) => {
    const hasPasswords = (await accounts.local.list()).length > 0;
    const services = accounts.services.list();
    return showSignIn(context, { services, hasPasswords, to, ...(problem === undefined ? {} : { problem }) }, status);
  };

  const showLater: SignInAnswers["showLater"] = async (context, to, waitMs) => {
    context.header("Retry-After", `${Math.max(1, Math.ceil(waitMs / 1_000))}`);
    return await show(context, to, tooMany(waitMs), 429);
  };

  /** The earlier session of this browser ends, so nobody can plant one. */
  const admit: SignInAnswers["admit"] = async (context, { person, ...checked }, to, deviceKey) => {
    const role = await accounts.roleOf(person, { createdAt: now(), ...checked });
    if (role === undefined) return showNotAdmitted(context, identityOf(person));
    await audit.record("session.changed", { identity: identityOf(person), name: person.name, change: "signed-in" });
    const cookies = cookiesOf(context);
    const before = getCookie(context, cookies.session);
    if (before !== undefined) await accounts.sessions.end(hashOf(before));
    setCookie(context, cookies.device, newDevice(deviceKey, now()), {
      ...cookies.options,
      maxAge: deviceCookieSeconds,
    });
    setCookie(context, cookies.session, await accounts.sessions.begin(person, checked), {
      ...cookies.options,
      maxAge: sessionCookieSeconds,
    });
    context.header("Cache-Control", "no-store");
    return context.redirect(to, 303);
  };

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
    const stored = await accounts.local.get(name);
    const cookie = getCookie(context, cookiesOf(context).device);
    const attempt = {
      name: accountName.test(name) ? name : "",
      networks: networksOf(place.client.address),
      device: stored && deviceIn(cookie, deviceKeyOf(stored), now()),
    };
    const checked = await checks.run(attempt, () => accounts.local.check(name, password), context.req.raw.signal);
    if (checked.type === "later") return await showLater(context, to, checked.waitMs);
    const account = checked.found;
    if (account === undefined) {
      // What was typed as a name may be a password.
      const address = place.client.address ?? "unknown";
      log.warn({ address, ...(stored === undefined ? {} : { account: name }) }, "a sign-in with a wrong password");
      return await show(context, to, wrong, 401);
    }
    const person = { platform: "account" as const, id: account.name, name: account.name };
    return await admit(context, { person, validFrom: account.validFrom }, to, deviceKeyOf(account));
  });

  mountServiceSignIn(app, options, { show, showLater, admit });
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

/** A new password ends what browsers are known by. */
function deviceKeyOf({ name, password }: AccountRecord): string {
  return `account ${name} ${password}`;
}

function tooMany(waitMs: number): string {
  const minutes = Math.ceil(waitMs / 60_000);
  const wait = minutes === 0 ? "in a moment" : minutes === 1 ? "in a minute" : `in ${minutes} minutes`;
  return `There were too many attempts to sign in. Try again ${wait}.`;
}
