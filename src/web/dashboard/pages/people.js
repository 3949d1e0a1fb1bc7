/** People and channels with what they used, by day and by model, the budgets in force, and what people think. */
import { formatDollars } from "/dashboard/vendor/format-usage.mjs";
import { count } from "../format.js";
import { html, nothing } from "../lit.js";
import { section, table, time, turnLink, waiting } from "../parts.js";

const everyMs = 10_000;
const budgetNames = {
  turn: "one request",
  user: "a person per day",
  channel: "a channel per day",
  scheduleRun: "one run of a schedule",
  schedule: "a schedule per day",
};

export function openPeople({ watch }) {
  const found = watch(() => "/dashboard/data/usage", everyMs);
  return () => {
    if (found.data === undefined) return waiting(found);
    const { days, people, channels, models, isComplete, isTotalsOnly, limits, ratings } = found.data;
    return html`
      ${isComplete ? nothing : html`<p class="banner">There are too many entries to show all of them, so older ones are missing here.</p>`}
      ${
        isTotalsOnly
          ? html`<p class="quiet">Only operators see who used how much, and what each person thinks.</p>`
          : html`${section("People", usageTable("People", people, personView), "most expensive first")}
            ${section("Channels", usageTable("Channels", channels, channelView))}`
      }
      ${section(
        "Models",
        usageTable("Models", models, ({ id }) => html`<code>${id}</code>`),
      )}
      ${section("Days", daysTable(days), "in UTC")}
      ${section("What people think of answers", isTotalsOnly ? nothing : ratingsView(ratings), `${ratings.good} 👍, ${ratings.bad} 👎 in 30 days`)}
      ${section("Budgets", budgetsView(limits))}`;
  };
}

const columns = [
  ["Who or what"],
  ["Today", true],
  ["Cost today", true],
  ["Left today", true],
  ["Tokens", true],
  ["From the cache", true],
  ["Calls", true],
  ["Cost", true],
];

function usageTable(label, used, view) {
  const rows = used.map((row) => ({
    key: `${row.platform} ${row.id}`,
    cells: [
      view(row),
      `${count(row.today.tokens)} tokens`,
      cost(row.today),
      row.budget === null ? "–" : leftOf(row.budget),
      count(row.total.tokens),
      row.total.fromCache ?? "–",
      count(row.total.calls),
      cost(row.total),
    ],
  }));
  return table(label, columns, rows, "Nothing has been used yet.");
}

function leftOf({ used, limit }) {
  return `${formatDollars(Math.max(0, limit - used))} of ${formatDollars(limit)}`;
}

function personView({ id, platform, name }) {
  const person = name === "" ? id : name;
  return html`<a href=${`#/turns?${new URLSearchParams({ person: id })}`}>${person}</a> <span class="quiet">${platform} · ${id}</span>`;
}

function channelView({ id, platform }) {
  return html`${id.replace(/^channel:/, "")} <span class="quiet">${platform}</span>`;
}

function daysTable(days) {
  const rows = days.map((day) => ({
    key: day.day,
    cells: [day.day, count(day.tokens), day.fromCache ?? "–", count(day.calls), cost(day)],
  }));
  return table(
    "Days",
    [["Day"], ["Tokens", true], ["From the cache", true], ["Calls", true], ["Cost", true]],
    rows,
    "Nothing has been used yet.",
  );
}

/** Calls without a price are said, so that a sum never looks complete when it is not. */
function cost({ cost: amount, calls, unpricedCalls }) {
  if (calls === 0) return "–";
  if (unpricedCalls === calls) return "no price known";
  return unpricedCalls === 0
    ? formatDollars(amount)
    : html`${formatDollars(amount)} <span class="quiet">+ ${count(unpricedCalls)} without a price</span>`;
}

const thumbs = { good: "👍 good", bad: "👎 bad", said: "said something" };

function ratingsView({ recent }) {
  const rows = recent.map(({ turnId, state, who, conversationId, at, hasWords }) => ({
    key: `${turnId} ${who}`,
    cells: [
      thumbs[state],
      html`${who} <span class="quiet">${conversationId}</span>`,
      html`${time(at)}${hasWords ? " · with a sentence, in memory" : ""}`,
      turnLink(turnId, "turn"),
    ],
  }));
  return table(
    "Ratings",
    [["Rating", true], ["Who"], ["When"], ["Turn", true]],
    rows,
    "Nobody has rated an answer yet.",
  );
}

function budgetsView({ dollars: budgets, userTokensPerDay, channelTokensPerDay }) {
  const inDollars = Object.entries(budgetNames).map(([key, name]) => [
    name,
    budgets[key] === null ? "no budget" : formatDollars(budgets[key]),
  ]);
  const inTokens = [
    ["a person per day, in tokens", userTokensPerDay],
    ["a channel per day, in tokens", channelTokensPerDay],
  ].map(([name, limit]) => [name, limit === null ? "no limit" : `${count(limit)} tokens`]);
  const rows = [...inDollars, ...inTokens].map((cells) => ({ key: cells[0], cells }));
  return table("Budgets", [["Budget for"], ["Limit"]], rows, "");
}
