/** Local accounts: a name, a role and a password. They are entries of the ledger, so every process knows them. */
import type { AccountRecord } from "../../ports/account.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { DashboardRole } from "../../ports/visitor.ts";
import { checkPassword, hashPassword } from "./passwords.ts";

export interface LocalAccounts {
  /** Resolves to false if the account exists. */
  add(name: string, role: DashboardRole, password: string): Promise<boolean>;
  /** Each resolves to false if there is no such account. Removing it and a new password end its sessions. */
  remove(name: string): Promise<boolean>;
  setRole(name: string, role: DashboardRole): Promise<boolean>;
  setPassword(name: string, password: string): Promise<boolean>;
  get(name: string): Promise<AccountRecord | undefined>;
  list(): Promise<AccountRecord[]>;
  /** Resolves to undefined if the name or the password is wrong. Takes the same time in both cases. */
  check(name: string, password: string): Promise<AccountRecord | undefined>;
}

/** Lower case, so that two people can't have names that differ only in case. */
export const accountName = /^[a-z0-9](?:[a-z0-9._-]{0,30}[a-z0-9])?$/;
export const accountNameHelp =
  "A name has 1 to 32 lower-case letters, digits, dots, hyphens or underscores, and begins and ends with a letter or digit.";
const maxListed = 1_000;

export function createLocalAccounts(ledger: Ledger, now: () => number = Date.now): LocalAccounts {
  const change = async (name: string, step: (body: AccountRecord) => AccountRecord) =>
    (await ledger.transition("account", name, ["active"], "active", step)) !== undefined;

  async function get(name: string): Promise<AccountRecord | undefined> {
    if (!accountName.test(name)) return undefined;
    const entry = await ledger.get("account", name);
    return entry?.state === "active" ? entry.body : undefined;
  }

  return {
    get,
    async add(name, role, password) {
      const at = now();
      const body = { name, role, password: await hashPassword(password), createdAt: at, validFrom: at };
      if (await ledger.create("account", name, { state: "active", body, group: "accounts" })) return true;
      return (await ledger.transition("account", name, ["removed"], "active", () => body)) !== undefined;
    },
    remove: async (name) =>
      (await ledger.transition("account", name, ["active"], "removed", (body) => ({
        ...body,
        password: "",
        validFrom: now(),
      }))) !== undefined,
    setRole: (name, role) => change(name, (body) => ({ ...body, role })),
    async setPassword(name, given) {
      const password = await hashPassword(given);
      return await change(name, (body) => ({ ...body, password, validFrom: now() }));
    },
    list: async () =>
      (await ledger.list("account", { states: ["active"], limit: maxListed }))
        .map(({ body }) => body)
        .sort((one, other) => one.name.localeCompare(other.name, "en")),
    async check(name, password) {
      const account = await get(name);
      return (await checkPassword(password, account?.password)) ? account : undefined;
    },
  };
}
