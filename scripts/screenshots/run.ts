/**
 * Makes the pictures in `docs/images/`: the team's story on Slack, each kind of card on Slack and Discord, and the
 * dashboard's pages, in both themes and two widths. `npm run screenshots` runs it, and prints the story's words.
 * `npm run screenshots -- sessions` makes one group alone: team, cards, page, dashboard or sessions.
 * Emoji need a font, such as that of the package fonts-noto-color-emoji.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import sharp from "sharp";
import { cardMessages as discordCard } from "../../src/platforms/discord/outbound/cards/card.ts";
import { cardMessages as slackCard } from "../../src/platforms/slack/outbound/cards/card.ts";
import type { ReplyTarget } from "../../src/ports/message.ts";
import { launchBrowser } from "../../test/doubles/browser.ts";
import { createHome, startRemora } from "../../test/doubles/remora-process.ts";
import { sessionScenes, sessionSettings, tellSessions } from "../../test/e2e/sessions-story.ts";
import { cardKinds, cardOfKind } from "../../test/fixtures/cards.ts";
import { discordMessage } from "./discord-html.ts";
import { framePage, sessionsPage } from "./frame.ts";
import { slackBlocks } from "./slack-html.ts";
import { readMessage, type Story, startWorld, tellStory } from "./story.ts";

const folder = join(import.meta.dirname, "../../docs/images");
const themes = ["light", "dark"] as const;
const widths = [1280, 390];
/** What the README shows at its top. */
const excerptCaption = "A change to a shared folder waits below the answer";
const excerptWidth = 760;
const cardNames = new Map([
  ["ann", "Ann"],
  ["ben", "Ben"],
]);
const dashboardPages = ["", "turns", "people", "grants", "schedules", "memory", "skills", "settings", "health"];

const chosen = process.argv.slice(2);
const isChosen = (group: string) => chosen.length === 0 || chosen.includes(group);

const browser = await launchBrowser();
await mkdir(folder, { recursive: true });
try {
  if (isChosen("cards")) await drawCards(browser);
  if (isChosen("page")) await drawPage(browser);
  if (isChosen("sessions")) await drawSessions(browser);
  if (isChosen("team") || isChosen("dashboard")) await drawTeam(browser);
} finally {
  await browser.close();
}

async function drawTeam(browser: Browser): Promise<void> {
  const story = await tellStory();
  try {
    printStory(story);
    if (isChosen("team")) await drawStory(browser, story);
    await story.prepareDashboard();
    if (isChosen("dashboard")) await drawDashboard(browser, story);
  } finally {
    await story.close();
  }
}

function printStory({ moments }: Pick<Story, "moments">): void {
  for (const { caption, messages } of moments) {
    console.log(`\n## ${caption}`);
    for (const { author, readable } of messages) console.log(`\n**${author}:** ${readable}`);
  }
}

async function drawStory(browser: Browser, { moments, names }: Story): Promise<void> {
  const groups = moments.map(({ caption, messages }) => ({
    caption,
    messages: messages.map(({ author, blocks }) => ({ author, time: "", html: slackBlocks(blocks, names) })),
  }));
  for (const theme of themes) {
    for (const width of widths)
      await shoot(browser, framePage("slack", theme, groups), `slack-story-${theme}-${width}`, width);
  }
  const excerpt = groups
    .filter(({ caption }) => caption === excerptCaption)
    .map((group) => ({ ...group, caption: "" }));
  await shoot(browser, framePage("slack", "light", excerpt), "slack-excerpt-light", excerptWidth);
}

/** What stands in Slack's list of sessions, for a direct message and for a channel. */
async function drawSessions(browser: Browser): Promise<void> {
  const world = await startWorld(sessionScenes(2_500), (slack) => sessionSettings({ slack }));
  const { slack, home } = world;
  try {
    const stories = await tellSessions({ slack, workspace: home.workspace, isPictured: true });
    const names = new Map([...slack.state.people.values()].map(({ id, displayName }) => [id, displayName]));
    for (const { id, name } of slack.state.channels.values()) names.set(id, name);
    for (const [place, steps] of Object.entries(stories)) {
      printStory({
        moments: steps.map(({ caption, thread }) => ({
          caption,
          messages: thread.map((each) => readMessage(each, names)),
        })),
      });
      const drawn = steps.map(({ thread, ...step }) => ({
        ...step,
        messages: thread
          .map((each) => readMessage(each, names))
          .map(({ author, blocks }) => ({ author, time: "", html: slackBlocks(blocks, names) })),
      }));
      for (const theme of themes)
        await shoot(browser, sessionsPage(theme, drawn), `slack-sessions-${place}-${theme}`, 960);
    }
  } finally {
    await world.close();
  }
}

async function drawCards(browser: Browser): Promise<void> {
  const target: ReplyTarget = { platform: "slack", conversationId: "c", turnId: "t", messageId: "m" };
  const cards = [
    ...cardKinds.map((kind) => ({ caption: kind, card: cardOfKind(kind, target), isOpen: false })),
    { caption: "call, with its menu open", card: cardOfKind("call", target), isOpen: true },
  ];
  const slack = cards.map(({ caption, card, isOpen }) => ({
    ...{ caption, isOpen },
    messages: slackCard(card, "shared").parts.map(({ blocks }) => ({
      ...{ author: "Remora", time: "14:02" },
      html: slackBlocks(blocks, cardNames),
    })),
  }));
  const discord = cards.map(({ caption, card, isOpen }) => ({
    ...{ caption, isOpen },
    messages: discordCard(card, { place: { thread: null }, style: "full" }).map((message) => ({
      ...{ author: "Remora", time: "14:02" },
      html: discordMessage(message, cardNames),
    })),
  }));
  for (const theme of themes) {
    await shoot(browser, framePage("slack", theme, slack), `slack-cards-${theme}`, 760);
    await shoot(browser, framePage("discord", theme, discord), `discord-cards-${theme}`, 760);
  }
}

/** The chat page with the demo model: a command whose changes can be undone, and one that waits for approval. */
async function drawPage(browser: Browser): Promise<void> {
  for (const theme of themes) {
    const home = await createHome();
    const remora = await startRemora(home);
    try {
      const context = await browser.newContext({ colorScheme: theme, viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      await page.goto(`${remora.url}/?token=${remora.token}`);
      const box = page.getByRole("main").getByRole("textbox");
      const thread = page.getByRole("complementary", { name: "Thread" });
      await box.fill("@remora run touch hello.txt && ls -la");
      await box.press("Enter");
      await thread.getByRole("button", { name: "Undo" }).waitFor();
      await thread.locator(".footer-line summary").last().click();
      await thread.getByText("What I did").waitFor();
      await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => {});
      await save(await page.screenshot(), `page-answer-${theme}`);
      await box.fill("@remora run curl -sI https://example.com with network example.com");
      await box.press("Enter");
      await thread.getByRole("button", { name: "Approve", exact: true }).waitFor();
      await save(await page.screenshot(), `page-card-${theme}`);
      await thread.getByText("More…").click();
      await save(await page.screenshot(), `page-menu-${theme}`);
      await thread.getByRole("button", { name: "Deny", exact: true }).click();
      await thread.getByText("Ann denied").first().waitFor();
      await save(await page.screenshot(), `page-denied-${theme}`);
      await context.close();
    } finally {
      await remora.kill();
      await home.remove();
    }
  }
}

async function drawDashboard(browser: Browser, { remora }: Story): Promise<void> {
  for (const theme of themes) {
    for (const width of widths) {
      const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
      const page = await context.newPage();
      await page.goto(`${remora.url}/dashboard?token=${remora.token}`);
      for (const name of dashboardPages) {
        await page.goto(`${remora.url}/dashboard#/${name}`);
        await page.getByText("Loading").first().waitFor({ state: "detached" });
        await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => {});
        await save(
          await page.screenshot({ fullPage: true }),
          `dashboard-${name === "" ? "now" : name}-${theme}-${width}`,
        );
      }
      await context.close();
    }
  }
}

async function shoot(browser: Browser, html: string, name: string, width: number): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height: 200 } });
  await page.setContent(html);
  await save(await page.screenshot({ fullPage: true }), name);
  await page.close();
}

/** With few colours, a picture takes a fifth of the room. */
async function save(picture: Buffer, name: string): Promise<void> {
  await sharp(picture)
    .png({ palette: true, colours: 64, effort: 10, dither: 0 })
    .toFile(join(folder, `${name}.png`));
}
