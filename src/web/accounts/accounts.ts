/** The people of the dashboard: who a session belongs to, and which role the person has now. */
import { createTimedCache } from "../../lib/timed-cache.ts";
import type { AccountRecord, SessionRecord } from "../../ports/account.ts";
import type { Ledger } from "../../ports/ledger.ts";
import {
  type DashboardRole,
  dashboardRoles,
  identityOf,
  type SignedInPerson,
  type Visitor,
} from "../../ports/visitor.ts";
import { createLocalAccounts, type LocalAccounts } from "./local-accounts.ts";
import { createServices, type ServiceSettings, type Services } from "./services.ts";
import { createSessions, type Sessions } from "./sessions.ts";

export interface AccountsOptions {
  ledger: Ledger;
  /** Without a slash at the end. Null if the server is reached at this machine only. */
  publicUrl: string | null;
  /** Roles by identity, such as `slack:U123`, as they are now. */
  roles(): Readonly<Record<string, DashboardRole>>;
  services: ServiceSettings;
  /** Roles by values of the identity provider's claim. */
  claimRoles: Readonly<Record<string, DashboardRole>>;
  /** Whether the chat service still knows the person. Asked again every few minutes; a rejection changes nothing. */
  isStillThere?(person: SignedInPerson): Promise<boolean>;
  now?: () => number;
}

export type VisitingPerson = Extract<Visitor, { type: "person" }>;

export interface Accounts {
  publicUrl: string | null;
  local: LocalAccounts;
  sessions: Sessions;
  services: Services;
  /** Resolves to undefined unless the session is valid, and the person still has a role. */
  visitorOf(secret: string): Promise<VisitingPerson | undefined>;
  /** Undefined if the person may not use the dashboard. */
  roleOf(
    person: SignedInPerson,
    session?: Pick<SessionRecord, "createdAt" | "claimed" | "validFrom">,
  ): Promise<DashboardRole | undefined>;
  /** Whether anybody could sign in. */
  isOffered(): Promise<boolean>;
  prune(): Promise<void>;
}

/** Sessions of earlier versions don't have the account's time, so when they began counts. */
function isStillValid({ validFrom }: AccountRecord, session?: Pick<SessionRecord, "createdAt" | "validFrom">): boolean {
  if (session === undefined) return true;
  return session.validFrom === undefined ? session.createdAt >= validFrom : session.validFrom === validFrom;
}

const maxSignInMs = 10 * 60_000;
const recheckMs = 5 * 60_000;
const maxRechecked = 1_000;

export function createAccounts(options: AccountsOptions): Accounts {
  const { ledger, publicUrl, claimRoles, now = Date.now } = options;
  const local = createLocalAccounts(ledger, now);
  const sessions = createSessions(ledger, now);
  const services = createServices(options.services, publicUrl);

  const roleOf: Accounts["roleOf"] = async (person, session) => {
    if (person.platform === "account") {
      const account = await local.get(person.id);
      return account !== undefined && isStillValid(account, session) ? account.role : undefined;
    }
    const identity = identityOf(person);
    const roles = options.roles();
    if (Object.hasOwn(roles, identity)) return roles[identity];
    const claimed = (session?.claimed ?? []).flatMap((value) =>
      Object.hasOwn(claimRoles, value) ? (claimRoles[value] ?? []) : [],
    );
    return dashboardRoles.findLast((role) => claimed.includes(role));
  };

  const rechecked = createTimedCache<boolean>({ keepMs: recheckMs, maxEntries: maxRechecked, now });

  /** Somebody who has left the chat service must not go on for as long as the session lasts. */
  const isStillThere = (person: SignedInPerson) =>
    rechecked(identityOf(person), async () => (await options.isStillThere?.(person).catch(() => true)) ?? true);

  return {
    ...{ publicUrl, local, sessions, services, roleOf },
    async visitorOf(secret) {
      const session = await sessions.find(secret);
      if (session === undefined) return undefined;
      const { person } = session.record;
      if (!(await isStillThere(person))) {
        await sessions.endAll(identityOf(person));
        return undefined;
      }
      const role = await roleOf(person, session.record);
      if (role === undefined) return undefined;
      return { type: "person", person, role, sessionId: session.id, csrfToken: session.csrfToken };
    },
    isOffered: async () => services.list().length > 0 || (await local.list()).length > 0,
    async prune() {
      await sessions.prune();
      await ledger.prune("sign-in", ["open", "used"], now() - maxSignInMs);
    },
  };
}
