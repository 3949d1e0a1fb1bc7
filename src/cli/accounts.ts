/**
 * `remora accounts` manages the local accounts of the dashboard in the ledger, also while an agent runs. Passwords are asked
 * for without showing them, or read from standard input: they are never arguments, which other programs can see.
 */
import { password as askPassword, isCancel } from "@clack/prompts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { RemoraError } from "../lib/errors.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import { type DashboardRole, dashboardRoles } from "../ports/visitor.ts";
import { makeFolders } from "../storage/folders.ts";
import {
  accountName,
  accountNameHelp,
  createLocalAccounts,
  type LocalAccounts,
} from "../web/accounts/local-accounts.ts";
import { passwordProblem } from "../web/accounts/passwords.ts";
import { createSessions, type Sessions } from "../web/accounts/sessions.ts";
import { withLedger } from "./open-state.ts";
import { settingsFor } from "./settings.ts";

interface Desk {
  accounts: LocalAccounts;
  sessions: Sessions;
}

export async function accountsAddCommand(env: Environment, root: string, name: string, options: { role: string }) {
  if (!accountName.test(name)) throw accountsError(name, `is not a name. ${accountNameHelp}`);
  const role = roleNamed(options.role);
  await withDesk(env, root, async ({ accounts }, { config: { web } }) => {
    if ((await accounts.get(name)) !== undefined)
      throw accountsError(name, "exists already. npm run -s remora -- accounts role (or password) changes it");
    if (!(await accounts.add(name, role, await newPassword(name)))) throw accountsError(name, "exists already");
    say(`Added ${name} with the role ${role}. Sign in at ${signInAddress(web)}`);
    say(`To let the account answer cards, name it among the approvers: user:account:${name}`);
  });
}

export async function accountsListCommand(env: Environment, root: string, { json }: { json?: boolean }) {
  await withDesk(env, root, async ({ accounts }) => {
    const all = (await accounts.list()).map(({ name, role, createdAt }) => ({ name, role, createdAt }));
    if (json) return say(JSON.stringify(all));
    if (all.length === 0)
      return say("No local accounts. Add one: npm run -s remora -- accounts add NAME --role viewer");
    for (const { name, role, createdAt } of all)
      say(`${name.padEnd(20)} ${role.padEnd(10)} since ${toIsoDate(createdAt)}`);
  });
}

export async function accountsRemoveCommand(env: Environment, root: string, name: string) {
  await withDesk(env, root, async ({ accounts, sessions }) => {
    if (!(await accounts.remove(name))) throw unknown(name);
    await sessions.endAll(`account:${name}`);
    say(`Removed ${name}, and ended its sessions.`);
  });
}

export async function accountsRoleCommand(env: Environment, root: string, name: string, written: string) {
  const role = roleNamed(written);
  await withDesk(env, root, async ({ accounts }) => {
    if (!(await accounts.setRole(name, role))) throw unknown(name);
    say(`${name} now has the role ${role}.`);
  });
}

export async function accountsPasswordCommand(env: Environment, root: string, name: string) {
  await withDesk(env, root, async ({ accounts, sessions }) => {
    if ((await accounts.get(name)) === undefined) throw unknown(name);
    await accounts.setPassword(name, await newPassword(name));
    await sessions.endAll(`account:${name}`);
    say(`Changed the password of ${name}, and ended its sessions.`);
  });
}

export async function accountsSignOutCommand(env: Environment, root: string, identity: string) {
  await withDesk(env, root, async ({ sessions }) => {
    const whole = identity.includes(":") ? identity : `account:${identity}`;
    const count = await sessions.endAll(whole);
    say(count === 0 ? `${whole} was not signed in.` : `Signed ${whole} out on all devices (${count}).`);
  });
}

async function withDesk(
  env: Environment,
  root: string,
  work: (desk: Desk, settings: Settings) => Promise<void>,
): Promise<void> {
  const settings = settingsFor(env, root);
  await makeFolders(settings.workspace, settings.data);
  await withLedger(settings, (ledger) =>
    work({ accounts: createLocalAccounts(ledger), sessions: createSessions(ledger) }, settings),
  );
}

/** With `port: 0`, only the start says which port it is. */
function signInAddress({ publicUrl, host, port }: Settings["config"]["web"]): string {
  if (publicUrl !== null) return new URL("/sign-in", publicUrl).href;
  if (port === 0) return "/sign-in on the dashboard’s address";
  const shown = host.includes(":") ? `[${host}]` : host;
  return `http://${shown}:${port}/sign-in`;
}

async function newPassword(name: string): Promise<string> {
  const isAsking = process.stdin.isTTY === true;
  const given = isAsking ? await asked("Password", name) : await firstLine();
  const problem = passwordProblem(given, name);
  if (problem !== undefined) throw accountsError(name, `was not changed. ${problem}`);
  if (isAsking && (await asked("The same password again")) !== given)
    throw accountsError(name, "was not changed. The two passwords differ");
  return given;
}

async function asked(message: string, name?: string): Promise<string> {
  const check =
    name === undefined ? {} : { validate: (value: string | undefined) => passwordProblem(value ?? "", name) };
  const given = await askPassword({ message, mask: "•", ...check });
  if (isCancel(given)) throw accountsError("password", "was not given, so nothing was changed");
  return given;
}

async function firstLine(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin) text += String(chunk);
  return text.split(/\r?\n/, 1)[0] ?? "";
}

function roleNamed(written: string): DashboardRole {
  const found = dashboardRoles.find((role) => role === written);
  if (found === undefined) throw accountsError(written, `is not a role. Use ${dashboardRoles.join(", ")}`);
  return found;
}

function unknown(name: string): RemoraError {
  return accountsError(name, "is not a local account. To see all: npm run -s remora -- accounts list");
}

function accountsError(place: string, message: string): RemoraError {
  return new RemoraError({ code: "accounts.refused", place, message });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
