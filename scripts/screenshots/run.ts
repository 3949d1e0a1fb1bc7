/**
 * Makes the pictures in `docs/images/`: the team's story on Slack, each kind of card on Slack and Discord, and the
 * dashboard's pages, in both themes and two widths. `npm run screenshots` runs it, and prints the story's words.
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
import { cardKinds, cardOfKind } from "../../test/fixtures/cards.ts";
import { discordMessage } from "./discord-html.ts";
import { framePage } from "./frame.ts";
import { slackBlocks } from "./slack-html.ts";
import { type Story, tellStory } from "./story.ts";

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

const browser = await launchBrowser();
await mkdir(folder, { recursive: true });
const story = await tellStory();
try {
  printStory(story);
  await drawStory(browser, story);
  await drawCards(browser);
  await drawPage(browser);
  await story.prepareDashboard();
  await drawDashboard(browser, story);
} finally {
  await story.close();
  await browser.close();
}

function printStory({ moments }: Story): void {
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
  const excerpt = groups.filter(({ caption }) => caption === excerptCaption);
  await shoot(browser, framePage("slack", "light", excerpt), "slack-excerpt-light", excerptWidth);
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
  const page = await browser.newPage({ viewport: { width, height: 800 } });
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
