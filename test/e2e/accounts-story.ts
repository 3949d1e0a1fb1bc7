/**
 * People elsewhere, in real browsers: a proxy with HTTPS, Slack and another identity provider, and the real agent with its command
 * line. Cara has an account with a password, Ida one at the provider, and Ben is in Slack; these three may answer cards.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import { commandHere } from "../cli/remora-here.ts";
import { axeFindings } from "../doubles/axe.ts";
import { launchBrowser } from "../doubles/browser.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createIdentityProvider, type IdentityProvider, type ProviderKind } from "../doubles/identity/provider.ts";
import { createHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { type ReverseProxy, startReverseProxy } from "../doubles/reverse-proxy.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const password = "correct horse battery";
const patienceMs = 90_000;
const client = { clientId: "1234.5678", clientSecret: "s3cret" };

export interface AccountsStory {
  proxy: ReverseProxy;
  slack: SlackDouble;
  providers: Record<"slack" | "oidc", IdentityProvider>;
  remora: RunningRemora;
  /** On the local page. */
  ann: ChatClient;
  /** Roles by identity, which apply at once. */
  writeSettings(roles: Record<string, string>): Promise<void>;
  /** `remora accounts …` beside the agent, with the password on standard input. Resolves to `code: output`. */
  accounts(...given: string[]): Promise<string>;
  newTab(): Promise<{ context: BrowserContext; tab: Page }>;
  signIn(tab: Page, name: string, given?: string): Promise<void>;
  /** Fits at both widths, and axe finds nothing serious on a phone, in both themes. */
  expectUsable(tab: Page): Promise<void>;
  /** What commands wrote to the file, in the folder or in its draft. */
  written(name: string): Promise<string>;
  auditLines(): Promise<object[]>;
  close(): Promise<void>;
}

export async function createAccountsStory(): Promise<AccountsStory> {
  const [browser, proxy, home, slack] = await Promise.all([
    launchBrowser(),
    startReverseProxy(),
    createHome(),
    createSlackDouble(),
  ]);
  const provider = (kind: ProviderKind, more: { team?: string; elsewhere?: string } = {}) =>
    createIdentityProvider({ kind, ...client, redirectUri: `${proxy.url}/sign-in/callback/${kind}`, ...more });
  const providers = {
    slack: await provider("slack", { team: slack.state.team.id, elsewhere: slack.apiUrl }),
    oidc: await provider("oidc"),
  };
  const env: Record<string, string> = {
    REMORA_CONFIG: join(home.data, "..", "remora.yaml"),
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_API_URL: `${providers.slack.url}/api/`,
  };

  const writeSettings: AccountsStory["writeSettings"] = async (roles) => {
    const signIn = {
      slack: { ...client, team: slack.state.team.id },
      oidc: { ...client, name: "Example", issuer: providers.oidc.url },
    };
    const web = { publicUrl: proxy.url, trustedProxies: ["127.0.0.1"], accounts: roles, signIn };
    const approvers = ["user:account:cara", "user:oidc:ida", `user:slack:${slack.ben.id}`];
    await writeFile(env.REMORA_CONFIG ?? "", JSON.stringify({ safety: { approvers, shell: "ask" }, web }));
  };

  const ofSlack = { [`slack:${slack.ben.id}`]: "approver", [`slack:${slack.ann.id}`]: "viewer" };
  await writeSettings({ "oidc:ida": "approver", ...ofSlack });
  const remora = await startRemora(home, env);
  proxy.upstream = remora.url;
  const ann = await createChatClient(remora.url, remora.token);
  const problems: string[] = [];

  return {
    ...{ proxy, slack, providers, remora, ann, writeSettings },
    async accounts(...given) {
      const own = { REMORA_WORKSPACE: home.workspace, REMORA_DATA: home.data, REMORA_ENV_FILE: "/dev/null" };
      const { code, stdout, stderr } = await commandHere({ ...own, ...env }, ["accounts", ...given], `${password}\n`);
      return `${code}: ${stdout}${stderr}`;
    },
    newTab: () => newTab(browser, problems),
    async signIn(tab, name, given = password) {
      await tab.goto(`${proxy.url}/dashboard`);
      await tab.getByLabel("Name").fill(name);
      await tab.getByLabel("Password").fill(given);
      await tab.getByRole("button", { name: "Sign in" }).click();
    },
    async expectUsable(tab) {
      for (const width of [1280, 390]) {
        await tab.setViewportSize({ width, height: 860 });
        expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      }
      expect(await axeFindings(tab)).toEqual([]);
      expect(problems).toEqual([]);
    },
    async written(name) {
      const all = await readdir(home.workspace, { recursive: true });
      const places = all.filter((path) => path.endsWith(`/${name}`) && !path.includes("/undo/"));
      const texts = await Promise.all(
        places.map((path) => readFile(join(home.workspace, path), "utf8").catch(() => "")),
      );
      return texts.join("");
    },
    async auditLines() {
      const folder = join(home.workspace, "brain/corpus");
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
      return files.flatMap((text) => text.trim().split("\n")).map((line) => JSON.parse(line) as object);
    },
    async close() {
      ann.close();
      await Promise.all([browser.close(), remora.stop()]);
      await Promise.all([proxy.close(), providers.slack.close(), providers.oidc.close(), slack.stop()]);
      await home.remove();
    },
  };
}

/** The browser of somebody elsewhere. */
async function newTab(browser: Browser, problems: string[]): Promise<{ context: BrowserContext; tab: Page }> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 860 } });
  const tab = await context.newPage();
  tab.setDefaultTimeout(patienceMs);
  tab.on("pageerror", (error) => problems.push(error.message));
  return { context, tab };
}
