/**
 * People who sign in from elsewhere: each role, approvals in a person's name with their effect, sign-out, and accounts and roles that
 * are taken away.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserNote, missingBrowser } from "../doubles/browser.ts";
import type { SeenMessage } from "../doubles/chat-client.ts";
import type { Person } from "../doubles/slack/state.ts";
import { type AccountsStory, createAccountsStory } from "./accounts-story.ts";

const patienceMs = 90_000;
const testMs = 300_000;

describe.skipIf(missingBrowser !== undefined)(`people who sign in${browserNote}`, { timeout: testMs }, () => {
  let story: AccountsStory;
  beforeAll(async () => {
    story = await createAccountsStory();
  });
  afterAll(() => story.close());

  const pagesOf = (tab: Page) => tab.getByRole("navigation").getByRole("link").allTextContents();
  const settled = (card: SeenMessage) => story.ann.waitFor(({ id, state }) => id === card.id && state !== "waiting");

  test("the operator adds accounts while the agent runs, and the program says what is wrong with a name or role", async () => {
    expect(await story.accounts("add", "vera", "--role", "viewer")).toContain(
      `0: Added vera with the role viewer. Sign in at ${story.proxy.url}/sign-in`,
    );
    expect(await story.accounts("add", "cara", "--role", "operator")).toContain("user:account:cara");
    expect(await story.accounts("role", "cara", "approver")).toBe("0: cara now has the role approver.\n");
    expect(await story.accounts("add", "cara", "--role", "viewer")).toMatch(/^1: .*cara.*exists already/);
    expect(await story.accounts("add", "Bad Name", "--role", "viewer")).toMatch(/^1: .*is not a name/);
    expect(await story.accounts("role", "vera", "boss")).toMatch(/^1: .*boss.*is not a role/);
    expect(await story.accounts("password", "nobody")).toMatch(/^1: .*nobody.*is not a local account/);
    expect(story.remora.stdout()).toContain(`  Dashboard ${story.proxy.url}, for people with an account`);
    expect(await story.accounts("list")).toMatch(/^0: cara +approver +since .+\nvera +viewer +since .+\n$/);
  });

  test("the page to sign in is usable, refuses a wrong password, and leads a viewer to what viewers see", async () => {
    const { context, tab } = await story.newTab();
    await story.signIn(tab, "vera", "a wrong password");
    await tab.getByRole("alert").getByText("The name or the password is wrong.").waitFor();
    await story.expectUsable(tab);
    await story.signIn(tab, "vera");
    await tab.getByRole("heading", { name: "Now" }).waitFor();
    expect(await pagesOf(tab)).toEqual(["Now", "People", "Schedules", "Health"]);
    expect(await tab.getByText("Open approvals").count()).toBe(0);
    await tab.goto(`${story.proxy.url}/dashboard#/turns`);
    await tab.getByText("There is no such page.").waitFor();
    await story.expectUsable(tab);
    const cookies = await context.cookies();
    const attributes = { httpOnly: true, secure: true, sameSite: "Lax", path: "/" };
    expect(cookies).toMatchObject([
      { name: "__Host-remora-device", ...attributes },
      { name: "__Host-remora-session", ...attributes },
    ]);
    await context.close();
  });

  test("an approver answers a card in their own name: the command runs once, and chat and audit log say who", async () => {
    const { context, tab } = await story.newTab();
    await story.signIn(tab, "cara");
    await tab.getByText("No approvals waiting for you.").waitFor();
    const said = await story.ann.say("@remora run echo ran >> made.txt");
    const card = await story.ann.cardFor(said);
    expect(await story.ann.click(card, "approve")).toMatchObject({ accepted: false });
    await tab.getByRole("button", { name: /^Approve: / }).waitFor();
    await story.expectUsable(tab);
    await tab.getByRole("button", { name: /^Approve: / }).click();
    await tab.getByRole("status").getByText("Approved.").waitFor();
    expect(JSON.stringify((await settled(card)).card)).toContain("cara approved");
    expect((await story.ann.answerTo(said)).text).toContain("is done");
    await expect.poll(() => story.written("made.txt")).toBe("ran\n");
    await expect.poll(story.auditLines).toContainEqual(
      expect.objectContaining({
        ...{ event: "approval.answered", choice: "approve", onDashboardAs: "account:cara", isOperator: false },
        by: expect.objectContaining({ id: "cara" }),
      }),
    );
    await tab.getByText("cara", { exact: true }).click();
    await tab.getByText("Signed in as account:cara, with the role approver.").waitFor();
    await story.expectUsable(tab);
    await tab.getByRole("button", { name: "Sign out", exact: true }).click();
    await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await tab.goto(`${story.proxy.url}/dashboard`);
    await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await context.close();
  });

  test("a person of the identity provider signs in with one click and denies with a reason; strangers read their identity", async () => {
    const { context, tab } = await story.newTab();
    story.providers.oidc.person = { sub: "stranger", name: "Stranger" };
    await tab.goto(`${story.proxy.url}/dashboard`);
    await tab.getByRole("link", { name: "Sign in with Example" }).click();
    await tab.getByText("oidc:stranger").waitFor();
    await story.expectUsable(tab);
    story.providers.oidc.person = { sub: "ida", name: "Ida" };
    const said = await story.ann.say("@remora run echo ran >> never.txt");
    const card = await story.ann.cardFor(said);
    await tab.getByRole("link", { name: "Sign in as somebody else" }).click();
    await tab.getByRole("link", { name: "Sign in with Example" }).click();
    await tab.getByRole("textbox", { name: /^Reason/ }).fill("Not today.");
    await tab.getByRole("button", { name: /^Deny: / }).click();
    await tab.getByRole("status").getByText("Denied.").waitFor();
    expect(JSON.stringify((await settled(card)).card)).toContain("Ida denied");
    expect(await story.written("never.txt")).toBe("");
    expect(await story.auditLines()).toContainEqual(
      expect.objectContaining({ event: "approval.answered", choice: "deny", onDashboardAs: "oidc:ida" }),
    );
    await context.close();
  });

  test("a person of Slack answers a card of Slack on the dashboard, until Slack has deactivated them", async () => {
    const { slack, providers } = story;
    const { context, tab } = await story.newTab();
    const signInAs = async ({ id, displayName }: Person) => {
      const claims = { "https://slack.com/user_id": id, "https://slack.com/team_id": slack.state.team.id };
      providers.slack.person = { sub: id, name: displayName, ...claims };
      await tab.goto(`${story.proxy.url}/sign-in`);
      await tab.getByRole("link", { name: "Sign in with Slack" }).click();
    };
    await signInAs(slack.ben);
    await tab.getByText("No approvals waiting for you.").waitFor();
    const ask = (text: string) => slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora run ${text}` });
    const said = ask("echo ran >> by-slack.txt");
    await tab.getByRole("button", { name: /^Approve: / }).click();
    await tab.getByRole("status").getByText("Approved.").waitFor();
    await slack.until(
      () => slack.see({ in: slack.general, thread: said.ts }).some(({ readable }) => /Ben approved/i.test(readable)),
      patienceMs,
    );
    await expect.poll(() => story.written("by-slack.txt")).toBe("ran\n");
    expect(await story.auditLines()).toContainEqual(
      expect.objectContaining({
        event: "approval.answered",
        onDashboardAs: `slack:${slack.ben.id}`,
        isOperator: false,
      }),
    );

    ask("echo ran >> too-late.txt");
    const approve = tab.getByRole("button", { name: /^Approve: / });
    await approve.waitFor();
    slack.ben.isDeleted = true;
    await approve.click();
    await tab.getByRole("status").getByText("you are no longer where it was asked").waitFor();
    expect(await story.written("too-late.txt")).toBe("");
    slack.ann.isDeleted = true;
    await signInAs(slack.ann);
    await tab.waitForURL(/\/sign-in\?to=/);
    await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await context.close();
  });

  test("who loses an account or a role is out of every browser at once, and the command line signs people out", async () => {
    const [one, two, three] = [await story.newTab(), await story.newTab(), await story.newTab()];
    await story.signIn(one.tab, "cara");
    await story.signIn(two.tab, "vera");
    await three.tab.goto(`${story.proxy.url}/sign-in/oidc`);
    for (const { tab } of [one, two, three]) await tab.getByRole("heading", { name: "Now" }).waitFor();
    expect(await story.accounts("sign-out", "vera")).toMatch(/^0: Signed account:vera out on all devices/);
    expect(await story.accounts("remove", "cara")).toBe("0: Removed cara, and ended its sessions.\n");
    await story.writeSettings({});
    for (const { tab } of [one, two, three]) await tab.getByRole("heading", { name: "Sign in to Remora" }).waitFor();
    await story.signIn(one.tab, "cara");
    await one.tab.getByRole("alert").getByText("The name or the password is wrong.").waitFor();
    await story.signIn(two.tab, "vera");
    await two.tab.getByRole("heading", { name: "Now" }).waitFor();
    await Promise.all([one, two, three].map(({ context }) => context.close()));
  });

  test("the link with the token opens nothing from elsewhere", async () => {
    const { context, tab } = await story.newTab();
    await tab.goto(`${story.proxy.url}/dashboard?token=${story.remora.token}`);
    await tab.getByText("the link with the token works only at the machine").waitFor();
    expect(await context.cookies()).toEqual([]);
    await context.close();
  });
});
