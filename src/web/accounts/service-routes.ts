/**
 * The routes to sign in with Slack, Discord or an identity provider.
 *
 *   GET  /sign-in/:service           begins there
 *   GET  /sign-in/callback/:service  comes back from there
 *
 * Beginning writes to the ledger, and coming back asks the service, so both wait in a fair queue.
 */
import type { Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ReadBody } from "../../lib/read-body.ts";
import type { SessionRecord } from "../../ports/account.ts";
import type { Audit } from "../../ports/audit.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { networksOf } from "../client.ts";
import type { Place } from "../place.ts";
import type { Accounts } from "./accounts.ts";
import { createAttempts } from "./attempts.ts";
import { type Cookies, deviceIn, flowCookieSeconds } from "./cookies.ts";
import { createFairQueue } from "./fair-queue.ts";
import { safePath } from "./safe-path.ts";
import { NotAdmitted, type ServiceName, type SignedIn } from "./services.ts";
import { hashOf, newSecret } from "./sessions.ts";

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

/** What the routes for passwords and for services share. */
export interface SignInAnswers {
  show(context: Context, to: string, problem?: string, status?: 400 | 401 | 429 | 502): Promise<Response>;
  /** 0: in a moment. */
  showLater(context: Context, to: string, waitMs: number): Promise<Response>;
  /** `deviceKey` makes the cookie of newDevice (cookies.ts). */
  admit(
    context: Context,
    signedIn: SignedIn & Pick<SessionRecord, "validFrom">,
    to: string,
    deviceKey: string,
  ): Promise<Response>;
}

const maxFlowMs = flowCookieSeconds * 1_000;
const quarterMs = 15 * 60_000;
/** In 15 minutes, per address, and per browser that has signed in before. */
const maxFlows = 30;
/** Of each service. A service that does not answer holds a place for ten seconds. */
const maxFlowsAtOnce = 4;
/** Of everybody and all services: 30 at once, then 20 a second. Each is an entry of the ledger until it is pruned. */
const flowEveryMs = 50;
const staleFlow = "This attempt to sign in is too old, was used already, or began in another browser. Try again.";

export function mountServiceSignIn(app: Hono, options: SignInOptions, answers: SignInAnswers): void {
  const { accounts, ledger, log, placeOf, cookiesOf, now = Date.now } = options;
  const { services } = accounts;
  const begun = createAttempts(quarterMs, now);
  const createQueue = () => createFairQueue({ atOnce: maxFlowsAtOnce, loadOf: begun.count });
  const queues = { slack: createQueue(), discord: createQueue(), oidc: createQueue() };
  let nextFlowAt = 0;

  const serviceOf = (context: Context) =>
    services.list().find(({ service }) => service === context.req.param("service"));

  /** A browser that has signed in with this service before has a place of its own, whatever strangers at its address do. */
  function networksIn(context: Context, service: ServiceName): string[] {
    const cookie = getCookie(context, cookiesOf(context).device);
    const device = deviceIn(cookie, services.deviceKey(service), now());
    return device === undefined ? networksOf(placeOf(context).client.address) : [device];
  }

  app.get("/sign-in/:service", async (context) => {
    const found = serviceOf(context);
    if (found === undefined) return context.notFound();
    const { service, name } = found;
    const to = safePath(context.req.query("to"));
    const networks = networksIn(context, service);
    const waitMs = () => begun.waitMs(networks.at(-1) ?? "", maxFlows);
    if (waitMs() > 0) return await answers.showLater(context, to, waitMs());
    const pauseMs = () => nextFlowAt - performance.now();
    const leave = await queues[service].enter({ networks, pauseMs }, context.req.raw.signal);
    if (leave === undefined) return await answers.showLater(context, to, 0);
    try {
      if (waitMs() > 0) return await answers.showLater(context, to, waitMs());
      for (const network of networks) begun.add(network);
      nextFlowAt = Math.max(nextFlowAt, performance.now() - maxFlows * flowEveryMs) + flowEveryMs;
      return await begin(context, service, to);
    } catch (thrown) {
      log.warn({ service, error: messageOf(thrown) }, "could not begin to sign in");
      return await answers.show(context, to, `${name} can't be reached. Try again in a moment.`, 502);
    } finally {
      leave();
    }
  });

  async function begin(context: Context, service: ServiceName, to: string): Promise<Response> {
    const secrets = await services.secrets();
    const address = await services.address(service, secrets);
    const browser = newSecret();
    const { nonce, verifier } = secrets;
    const body = { platform: service, browser: hashOf(browser), nonce, verifier, to, createdAt: now() };
    await ledger.create("sign-in", hashOf(secrets.state), { state: "open", body, group: service });
    const cookies = cookiesOf(context);
    setCookie(context, cookies.flow, browser, { ...cookies.options, maxAge: flowCookieSeconds });
    context.header("Cache-Control", "no-store");
    return context.redirect(address, 303);
  }

  app.get("/sign-in/callback/:service", async (context) => {
    const found = serviceOf(context);
    if (found === undefined) return context.notFound();
    const { service } = found;
    // Before the attempt is taken, because it can be used only once.
    const leave = await queues[service].enter({ networks: networksIn(context, service) }, context.req.raw.signal);
    if (leave === undefined) return await answers.showLater(context, safePath(undefined), 0);
    try {
      return await finish(context, found);
    } finally {
      leave();
    }
  });

  async function finish(context: Context, { service, name }: { service: ServiceName; name: string }) {
    const { show, admit } = answers;
    const cookies = cookiesOf(context);
    const state = context.req.query("state") ?? "";
    const record = await takeFlow(state, getCookie(context, cookies.flow), service);
    if (record === undefined) return await show(context, safePath(undefined), staleFlow, 400);
    deleteCookie(context, cookies.flow, cookies.options);
    const refused = `${name} did not sign you in. Try again, or ask the person who runs Remora.`;
    if (context.req.query("error") !== undefined) return await show(context, record.to, refused, 401);
    try {
      const { nonce, verifier } = record;
      const query = new URL(context.req.url).search;
      const signedIn = await services.finish(service, query, { state, nonce, verifier });
      return await admit(context, signedIn, record.to, services.deviceKey(service));
    } catch (thrown) {
      if (thrown instanceof NotAdmitted) return await show(context, record.to, thrown.message, 401);
      log.warn({ service, error: messageOf(thrown) }, "a sign-in was refused");
      return await show(context, record.to, `The answer of ${name} could not be verified. Try again.`, 401);
    }
  }

  /** Each attempt is used once, even if it then fails. */
  async function takeFlow(state: string, browser: string | undefined, service: ServiceName) {
    if (browser === undefined) return undefined;
    const isOwn = (found: { browser: string; platform: string; createdAt: number }) =>
      found.browser === hashOf(browser) && found.platform === service && now() - found.createdAt <= maxFlowMs;
    const used = await ledger.transition("sign-in", hashOf(state), ["open"], "used", (body) =>
      isOwn(body) ? body : undefined,
    );
    return used?.body;
  }
}
