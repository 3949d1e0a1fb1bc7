/** Every rule of the doubles of Slack and Discord says where it comes from, and the doubles do nothing else. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { discordRules } from "./discord/rules.ts";
import type { Rule } from "./rules.ts";
import { slackRules } from "./slack/rules.ts";

const tables: Readonly<Record<"slack" | "discord", Readonly<Record<string, Rule>>>> = {
  slack: slackRules,
  discord: discordRules,
};
const rules = Object.entries(tables).flatMap(([service, table]) =>
  Object.entries(table).map(([key, rule]) => ({ service, key, ...rule })),
);

/** Where Slack, Discord and those who have measured them publish. */
const publicHosts = ["docs.slack.dev", "slack.com", "docs.discord.com", "support.discord.com", "github.com"];

/** What the doubles of a service do, without their tables and tests. */
function sourceOf(service: string): string {
  const paths = globSync("*.ts", { cwd: new URL(`${service}/`, import.meta.url) });
  const own = paths.filter((path) => !path.endsWith(".test.ts") && path !== "rules.ts" && path !== "refusals.ts");
  return own.map((path) => readFileSync(new URL(`${service}/${path}`, import.meta.url), "utf8")).join("\n");
}

const sources = Object.fromEntries(Object.keys(tables).map((service) => [service, sourceOf(service)]));

/** The behaviours that comments name: `Rule: one-thing`, `Rules: one-thing, another-thing`. */
function namedIn(source: string): string[] {
  return [...source.matchAll(/\bRules?: ([a-z0-9-]+(?:, [a-z0-9-]+)*)/g)].flatMap(([, keys = ""]) => keys.split(", "));
}

test.each(Object.keys(tables))("the double of %s enforces no behaviour that its table does not name", (service) => {
  expect(
    namedIn(sources[service] ?? "").filter((key) => tables[service as keyof typeof tables][key] === undefined),
  ).toEqual([]);
});

test("every rule of the doubles of Slack and Discord names a page of a known public host", () => {
  const isPublic = (page: string) =>
    URL.canParse(page) && new URL(page).protocol === "https:" && publicHosts.includes(new URL(page).hostname);
  expect(rules.filter(({ page }) => !isPublic(page)).map(({ key, page }) => `${key}: ${page}`)).toEqual([]);
});

test("every rule of the doubles of Slack and Discord was read on a day that has come", () => {
  const today = new Date().toISOString().slice(0, 10);
  const isDay = (day: string) => new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day && day <= today;
  expect(rules.filter(({ read }) => !isDay(read)).map(({ key, read }) => `${key}: ${read}`)).toEqual([]);
});

test("every rule of the doubles of Slack and Discord says in a sentence what the service does", () => {
  const isSentence = (says: string) => /^["“`]?[\p{Lu}\d`].*[.!?]["”)]?$/su.test(says) && says.split(/\s+/).length >= 3;
  expect(rules.filter(({ says }) => !isSentence(says)).map(({ key, says }) => `${key}: ${says}`)).toEqual([]);
});
