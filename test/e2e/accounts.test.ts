/**
 * People who sign in from elsewhere: a real browser, a proxy with HTTPS, an identity provider and a real process with its
 * command line. Each role, an approval in a person's name with its effect, sign-out, and accounts that are taken away.
 */
import { spawn } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFindings } from "../doubles/axe.ts";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { createIdentityProvider, type IdentityProvider } from "../doubles/identity/provider.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { type ReverseProxy, startReverseProxy } from "../doubles/reverse-proxy.ts";

const project = resolve(import.meta.dirname, "../..");
const password = "correct horse battery";
const patienceMs = 30_000;

describe.skipIf(missingBrowser !== undefined)(`people who sign in${browserNote}`, () => {
  let browser: Browser;
  let proxy: ReverseProxy;
  let provider: IdentityProvider;
  let home: RemoraHome;
  let env: Record<string, string>;
  let remora: RemoraProcess;
  let ann: ChatClient;
  const problems: string[] = [];

  beforeAll(async () => {
    [browser, proxy, home] = await Promise.all([launchBrowser(), startReverseProxy(), createHome()]);
    const redirectUri = `${proxy.url}/sign-in/callback/oidc`;
    provider = await createIdentityProvider({ kind: "oidc", clientId: "remora", clientSecret: "s3cret", redirectUri });
    env = { REMORA_CONFIG: join(home.data, "..", "remora.yaml") };
    await writeSettings({ "oidc:ida": "approver" });
    remora = await startRemora(home, env);
    proxy.upstream = remora.url;
    ann = await createChatClient(remora.url, remora.token);
  });
  afterAll(async () => {
    ann.close();
    await Promise.all([browser.close(), remora.kill(), provider.close()]);
    await proxy.close();
    await home.remove();
  });

  async function writeSettings(roles: Record<string, string>): Promise<void> {
    const oidc = { name: "Example", issuer: provider.url, clientId: "remora", clientSecret: "s3cret" };
    const web = { publicUrl: proxy.url, trustedProxies: ["127.0.0.1"], accounts: roles, signIn: { oidc } };
    const safety = { approvers: ["user:account:cara", "user:oidc:ida"], shell: "ask" };
    await writeFile(env.REMORA_CONFIG ?? "", JSON.stringify({ safety, web }));
  }

  /** `remora accounts …` beside the agent, with the password on standard input. */
  async function accounts(...given: string[]): Promise<string> {
    const child = spawn(process.execPath, ["src/remora.mjs", "accounts", ...given], {
      cwd: project,
      env: {
        ...{ PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", REMORA_ENV_FILE: "/dev/null" },
        ...{ REMORA_WORKSPACE: home.workspace, REMORA_DATA: home.data, ...env },
      },
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
    child.stdin.end(`${password}\n`);
    const code = await new Promise((done) => child.once("close", done));
    return `${code}: ${said}`;
  }

  /** A browser of somebody elsewhere. */
  async function newTab(): Promise<{ context: BrowserContext; tab: Page }> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 860 } });
    const tab = await context.newPage();
    tab.setDefaultTimeout(patienceMs);
    tab.on("pageerror", (error) => problems.push(error.message));
    return { context, tab };
  }

  async function signIn(tab: Page, name: string, given = password): Promise<void> {
    await tab.goto(`${proxy.url}/dashboard`);
    await tab.getByLabel("Name").fill(name);
    await tab.getByLabel("Password").fill(given);
    await tab.getByRole("button", { name: "Sign in" }).click();
  }

  /** Fits at both widths, and axe finds nothing serious on a phone, in both themes. */
  async function expectUsable(tab: Page): Promise<void> {
    for (const width of [1280, 390]) {
      await tab.setViewportSize({ width, height: 860 });
      expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    }
    expect(await axeFindings(tab)).toEqual([]);
    expect(problems).toEqual([]);
  }

  const pagesOf = (tab: Page) => tab.getByRole("navigation").getByRole("link").allTextContents();
  const settled = (card: SeenMessage) => ann.waitFor(({ id, state }) => id === card.id && state !== "waiting");

  /** What commands wrote to the file, in the folder or in its draft. */
  async function written(name: string): Promise<string> {
    const all = await readdir(home.workspace, { recursive: true });
    const places = all.filter((path) => path.endsWith(`/${name}`) && !path.includes("/undo/"));
    const texts = await Promise.all(places.map((path) => readFile(join(home.workspace, path), "utf8").catch(() => "")));
    return texts.join("");
  }

  async function auditLines(): Promise<object[]> {
    const folder = join(home.workspace, "brain/corpus");
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    return files.flatMap((text) => text.trim().split("\n")).map((line) => JSON.parse(line) as object);
  }

  test("the operator adds accounts while the agent runs, and the program says what is wrong with a name or role", async () => {
    expect(await accounts("add", "vera", "--role", "viewer")).toContain("0: Added vera with the role viewer.");
    expect(await accounts("add", "cara", "--role", "operator")).toContain("user:account:cara");
    expect(await accounts("role", "cara", "approver")).toBe("0: cara now has the role approver.\n");
    expect(await accounts("add", "cara", "--role", "viewer")).toMatch(/^1: .*cara.*exists already/);
    expect(await accounts("add", "Bad Name", "--role", "viewer")).toMatch(/^1: .*is not a name/);
    expect(await accounts("role", "vera", "boss")).toMatch(/^1: .*boss.*is not a role/);
    expect(await accounts("password", "nobody")).toMatch(/^1: .*nobody.*is not a local account/);
    expect(remora.stdout()).toContain(`  Dashboard ${proxy.url}, for people with an account`);
    expect(await accounts("list")).toMatch(/^0: cara +approver +since .+\nvera +viewer +since .+\n$/);
  });

  test("the page to sign in is usable, refuses a wrong password, and leads a viewer to what viewers see", async () => {
    const { context, tab } = await newTab();
    await signIn(tab, "vera", "a wrong password");
    await tab.getByRole("alert").getByText("The name or the password is wrong.").waitFor();
    await expectUsable(tab);
    await signIn(tab, "vera");
    await tab.getByRole("heading", { name: "Now" }).waitFor();
    expect(await pagesOf(tab)).toEqual(["Now", "People", "Schedules", "Health"]);
    expect(await tab.getByText("Open approvals").count()).toBe(0);
    await tab.goto(`${proxy.url}/dashboard#/turns`);
    await tab.getByText("There is no such page.").waitFor();
    await expectUsable(tab);
    const cookies = await context.cookies();
    expect(cookies).toMatchObject([
      { name: "__Host-remora-session", httpOnly: true, secure: true, sameSite: "Lax", path: "/" },
    ]);
    await context.close();
  });

  test("an approver answers a card in their own name: the command runs once, and chat and audit log say who", async () => {
    const { context, tab } = await newTab();
    await signIn(tab, "cara");
    await tab.getByText("No approvals waiting for you.").waitFor();
    const said = await ann.say("@remora run echo ran >> made.txt");
    const card = await ann.cardFor(said);
    expect(await ann.click(card, "approve")).toMatchObject({ accepted: false });
    await tab.getByRole("button", { name: /^Approve: / }).waitFor();
    await expectUsable(tab);
    await tab.getByRole("button", { name: /^Approve: / }).click();
    await tab.getByRole("status").getByText("Approved.").waitFor();
    expect(JSON.stringify((await settled(card)).card)).toContain("cara approved");
    expect((await ann.answerTo(said)).text).toContain("is done");
    await expect.poll(() => written("made.txt")).toBe("ran\n");
    await expect.poll(auditLines).toContainEqual(
      expect.objectContaining({
        ...{ event: "approval.answered", choice: "approve", onDashboardAs: "account:cara", isOperator: false },
        by: expect.objectContaining({ id: "cara" }),
      }),
    );
    await tab.getByText("cara", { exact: true }).click();
    await tab.getByText("Signed in as account:cara, with the role approver.").waitFor();
    await expectUsable(tab);
    await tab.getByRole("button", { name: "Sign out", exact: true }).click();
    await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await tab.goto(`${proxy.url}/dashboard`);
    await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await context.close();
  });

  test("a person of the identity provider signs in with one click and denies with a reason; strangers read their identity", async () => {
    const { context, tab } = await newTab();
    provider.person = { sub: "stranger", name: "Stranger" };
    await tab.goto(`${proxy.url}/dashboard`);
    await tab.getByRole("link", { name: "Sign in with Example" }).click();
    await tab.getByText("oidc:stranger").waitFor();
    await expectUsable(tab);
    provider.person = { sub: "ida", name: "Ida" };
    const said = await ann.say("@remora run echo ran >> never.txt");
    const card = await ann.cardFor(said);
    await tab.getByRole("link", { name: "Sign in as somebody else" }).click();
    await tab.getByRole("link", { name: "Sign in with Example" }).click();
    await tab.getByRole("textbox", { name: /^Reason/ }).fill("Not today.");
    await tab.getByRole("button", { name: /^Deny: / }).click();
    await tab.getByRole("status").getByText("Denied.").waitFor();
    expect(JSON.stringify((await settled(card)).card)).toContain("Ida denied");
    expect(await written("never.txt")).toBe("");
    expect(await auditLines()).toContainEqual(
      expect.objectContaining({ event: "approval.answered", choice: "deny", onDashboardAs: "oidc:ida" }),
    );
    await context.close();
  });

  test("who loses an account or a role is out of every browser at once, and the command line signs people out", async () => {
    const [one, two, three] = [await newTab(), await newTab(), await newTab()];
    await signIn(one.tab, "cara");
    await signIn(two.tab, "vera");
    await three.tab.goto(`${proxy.url}/sign-in/oidc`);
    for (const { tab } of [one, two, three]) await tab.getByRole("heading", { name: "Now" }).waitFor();
    expect(await accounts("sign-out", "vera")).toMatch(/^0: Signed account:vera out on all devices/);
    expect(await accounts("remove", "cara")).toBe("0: Removed cara, and ended its sessions.\n");
    await writeSettings({});
    for (const { tab } of [one, two, three]) await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await signIn(one.tab, "cara");
    await one.tab.getByRole("alert").getByText("The name or the password is wrong.").waitFor();
    await signIn(two.tab, "vera");
    await two.tab.getByRole("heading", { name: "Now" }).waitFor();
    await Promise.all([one, two, three].map(({ context }) => context.close()));
  });

  test("the link with the token opens nothing from elsewhere", async () => {
    const { context, tab } = await newTab();
    await tab.goto(`${proxy.url}/dashboard?token=${remora.token}`);
    await tab.getByText("the link with the token works only at the machine").waitFor();
    expect(await context.cookies()).toEqual([]);
    await context.close();
  });
});
