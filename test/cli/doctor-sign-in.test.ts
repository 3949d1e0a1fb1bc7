/** What doctor says about people who sign in to the dashboard. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSignIn } from "../../src/cli/doctor-sign-in.ts";
import { loadSettings } from "../../src/config/load.ts";
import { checkText } from "../../src/ports/health.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createLocalAccounts } from "../../src/web/accounts/local-accounts.ts";
import { environmentOf, temporaryFolder } from "./remora-command.ts";

const publicUrl = "https://remora.example.com";
const behindProxy = { publicUrl, trustedProxies: ["127.0.0.1"] };
const slack = { clientId: "1.2", clientSecret: "s3cret", team: "T0123ABCD" };

/** `accounts` are names of accounts with a password. Nothing runs. */
async function said(web: object, accounts: string[] = []): Promise<string[]> {
  const home = await temporaryFolder();
  const env = { ...environmentOf(home), REMORA_CONFIG: join(home, "remora.yaml") };
  await writeFile(env.REMORA_CONFIG, JSON.stringify({ web }));
  const loaded = loadSettings(env, home);
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  await mkdir(loaded.settings.data, { recursive: true });
  const ledger = createSqliteLedger({ path: join(loaded.settings.data, "ledger.db") });
  for (const name of accounts) await createLocalAccounts(ledger).add(name, "viewer", "correct horse battery");
  await ledger.close();
  return (await checkSignIn(loaded.settings)).map((check) => `${check.state}: ${checkText(check)}`);
}

test("who uses the page at the machine only hears nothing about accounts", async () => {
  expect(await said({})).toEqual([]);
  expect(await said({}, ["ann"])).toEqual([
    "ok: 1 account with a password, at this machine only: web.publicUrl is not set",
  ]);
});

test("an address at which nobody can sign in, or has a role, is a warning", async () => {
  expect(await said(behindProxy)).toEqual([
    expect.stringMatching(/^warning: nobody can sign in at https.*accounts add/),
  ]);
  expect(await said({ ...behindProxy, signIn: { slack } })).toEqual([
    expect.stringContaining("warning: people can sign in, but nobody has a role"),
  ]);
  expect(await said({ ...behindProxy, accounts: { "discord:1": "viewer" } }, ["ann"])).toEqual([
    expect.stringContaining("warning: web.accounts has discord:1, but web.signIn does not have the service"),
  ]);
});

test("an address without a trusted proxy is a warning, because each request would be refused", async () => {
  expect(await said({ publicUrl }, ["ann"])).toEqual([
    `warning: no proxy is trusted, so every request to ${publicUrl} is refused. Add the proxy's address to web.trustedProxies`,
  ]);
});

test("who can sign in is said in one line", async () => {
  const web = { ...behindProxy, signIn: { slack }, accounts: { "slack:U0ANN": "operator" } };
  expect(await said(web, ["ann", "ben"])).toEqual([`ok: at ${publicUrl}, with 2 accounts with a password, Slack`]);
});
