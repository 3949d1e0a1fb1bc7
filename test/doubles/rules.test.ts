/** Every rule of the doubles of Slack and Discord says where it comes from and is enforced, and the doubles do nothing else. */
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
  const own = paths.filter(
    (path) => !path.endsWith(".test.ts") && !["refusals.ts", "rules.ts", "sizes.ts"].includes(path),
  );
  return own.map((path) => readFileSync(new URL(`${service}/${path}`, import.meta.url), "utf8")).join("\n");
}

/** What tests ask the doubles to refuse with. */
const asked = globSync("{platforms,conformance,e2e,faults}/**/*.ts", { cwd: new URL("../", import.meta.url) })
  .map((path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8"))
  .join("\n");

const sources = Object.fromEntries(Object.keys(tables).map((service) => [service, sourceOf(service)]));

const isBehaviour = (key: string) => /^[a-z0-9]+(-[a-z0-9]+)+$/.test(key);

/** The behaviours that comments name: `Rule: one-thing`, `Rules: one-thing, another-thing`. */
function namedIn(source: string): string[] {
  return [...source.matchAll(/\bRules?: ([a-z0-9-]+(?:, [a-z0-9-]+)*)/g)].flatMap(([, keys = ""]) => keys.split(", "));
}

/** A size by its key, another behaviour by its comment, and what the service answers with where it is said or asked for. */
function isEnforced(service: string, key: string): boolean {
  const source = sources[service] ?? "";
  if (isBehaviour(key)) return namedIn(source).includes(key) || source.includes(`most("${key}")`);
  const said = new RegExp(/^\d/.test(key) ? `(?<![\\w.])${key}(?!\\w)` : `\\b${key}\\b`);
  return said.test(source) || asked.includes(`"${key}"`);
}

test("every rule of the doubles of Slack and Discord is enforced by its double", () => {
  const idle = rules.filter(({ service, key }) => !isEnforced(service, key));
  expect(idle.map(({ service, key }) => `${service}: ${key}`)).toEqual([]);
});

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
