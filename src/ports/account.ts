/** What the ledger keeps about people who sign in to the dashboard. */
import type { DashboardRole, IdentityPlatform, SignedInPerson } from "./visitor.ts";

/** The id of its entry is its name. */
export interface AccountRecord {
  name: string;
  role: DashboardRole;
  /** scrypt, with its parameters and salt. */
  password: string;
  createdAt: number;
  /** Sessions from before are not valid: the password was changed, or the account was removed. */
  validFrom: number;
}

/** The id of its entry is the hash of the secret in the cookie, so the ledger's files let nobody in. */
export interface SessionRecord {
  person: SignedInPerson;
  /** Roles from the identity provider's claim, as they were at sign-in. */
  claimed?: string[];
  /** The account's `validFrom` when its password was checked, so that a new password ends the session also if it came meanwhile. */
  validFrom?: number;
  createdAt: number;
  seenAt: number;
  endedAt?: number;
}

/** One attempt to sign in through a service. The id of its entry is the hash of `state`. Used at most once. */
export interface SignInRecord {
  platform: Exclude<IdentityPlatform, "account">;
  /** Hash of the secret in the cookie of the browser that began. */
  browser: string;
  nonce: string;
  verifier: string;
  /** A path of this server. */
  to: string;
  createdAt: number;
}
