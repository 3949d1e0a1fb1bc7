/**
 * Sessions of people who have signed in. The cookie holds 256 random bits; the ledger holds only their hash. A session
 * ends after a time without requests, after a fixed time, when the person signs out, and when the account goes.
 */
import { createHash, randomBytes } from "node:crypto";
import type { SessionRecord } from "../../ports/account.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { identityOf, type SignedInPerson } from "../../ports/visitor.ts";

export interface Sessions {
  /** Resolves to the secret for the cookie. */
  begin(person: SignedInPerson, checked?: Pick<SessionRecord, "claimed" | "validFrom">): Promise<string>;
  /** Resolves to undefined for a session that is unknown, ended or too old. Notes that it is in use. */
  find(secret: string): Promise<Session | undefined>;
  end(id: string): Promise<void>;
  /** Ends every session of the identity. Resolves to their number. */
  endAll(identity: string): Promise<number>;
  prune(): Promise<void>;
}

export interface Session {
  id: string;
  record: SessionRecord;
  /** Scripts of this server send it with each change. It does not reveal the secret. */
  csrfToken: string;
}

const hourMs = 3_600_000;
const maxIdleMs = 12 * hourMs;
const maxAgeMs = 7 * 24 * hourMs;
export const sessionCookieSeconds = maxAgeMs / 1_000;
/** Writes to the ledger at most this often per session. */
const noteEveryMs = 5 * 60_000;
const secretBytes = 32;
const secretForm = /^[A-Za-z0-9_-]{43}$/;
const maxListed = 1_000;

export function createSessions(ledger: Ledger, now: () => number = Date.now): Sessions {
  const isOver = ({ createdAt, seenAt }: SessionRecord) => now() - createdAt > maxAgeMs || now() - seenAt > maxIdleMs;
  const end = async (id: string) => {
    await ledger.transition("session", id, ["active"], "ended", (body) => ({ ...body, endedAt: now() }));
  };

  return {
    end,
    async begin(person, checked = {}) {
      const secret = newSecret();
      const at = now();
      const body = { person, createdAt: at, seenAt: at, ...checked };
      await ledger.create("session", hashOf(secret), { state: "active", body, group: identityOf(person) });
      return secret;
    },
    async find(secret) {
      if (!secretForm.test(secret)) return undefined;
      const id = hashOf(secret);
      const entry = await ledger.get("session", id);
      if (entry?.state !== "active" || isOver(entry.body)) return undefined;
      if (now() - entry.body.seenAt > noteEveryMs)
        await ledger.transition("session", id, ["active"], "active", (body) => ({ ...body, seenAt: now() }));
      return { id, record: entry.body, csrfToken: hashOf(`csrf ${secret}`) };
    },
    async endAll(identity) {
      const active = await ledger.list("session", { states: ["active"], group: identity, limit: maxListed });
      for (const { id } of active) await end(id);
      return active.length;
    },
    prune: async () => {
      await ledger.prune("session", ["active"], now() - maxIdleMs - hourMs);
      await ledger.prune("session", ["ended"], now() - hourMs);
    },
  };
}

export function newSecret(): string {
  return randomBytes(secretBytes).toString("base64url");
}

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
