/** How each part is, what waits, and what has changed in the last seven days. */
import { count, counted, duration, elapsed, moment, size } from "../format.js";
import { html, nothing, svg } from "../lit.js";
import { badge, section, table, time, turnLink, waiting } from "../parts.js";

const weekMs = 7 * 86_400_000;
const columns = [["Part", true], ["State", true], ["Details"], ["History"]];

export function openHealth(context) {
  const found = context.watch(() => {
    const before = context.query.get("before");
    return `/dashboard/data/health${before === null ? "" : `?before=${encodeURIComponent(before)}`}`;
  });
  return () => {
    if (found.data === undefined) return waiting(found);
    const { version, startedAt, status, jobs, calls, changes, older, historyProblem, storage } = found.data;
    const rows = status.map(({ name, state, detail }) => ({
      key: name,
      cells: [html`<strong class="name">${name}</strong>`, badge(state), detail, strip(name, changes, older === null)],
    }));
    return html`
      <p class="about">Version ${version}, running for ${elapsed(startedAt)}.</p>
      ${section("Parts", table("Parts", columns, rows, "No health information."))}
      ${historyProblem === null ? nothing : html`<p class="banner" role="alert">The history and the waiting calls can't be read now: ${historyProblem}</p>`}
      ${section("Tool calls", table("Tool calls", callColumns, calls.map(callRow), "No tool calls right now."), `${jobs.running} running, ${jobs.waiting} waiting`)}
      ${section("Storage", table("Storage", storageColumns, (storage ?? []).map(storageRow), storage === null ? "Being measured. Look again in a moment." : "Nothing is stored."), "npm run -s remora -- prune --dry-run shows what is old")}
      ${section("Changes", table("Changes", changeColumns, changes.map(changeRow), "Nothing has changed in the last 7 days."), "newest first, kept for 7 days")}
      <p class="paging">
        ${context.query.has("before") ? html`<a href="#/health">Newest</a>` : nothing}
        ${older === null ? nothing : html`<a href=${`#/health?before=${older}`}>Older</a>`}
      </p>`;
  };
}

const callColumns = [["Tool", true], ["State", true], ["Details"], ["Since", true]];

function callRow({ id, turnId, tool, state, attempts, startedAt, retryAt, failure }) {
  const next =
    retryAt === null ? "" : `, next try ${retryAt <= Date.now() ? "now" : `in ${elapsed(Date.now(), retryAt)}`}`;
  const details = `${counted(attempts, "attempt")}${next}${failure === null ? "" : `: ${failure}`}`;
  return { key: id, cells: [tool, state, html`${details} · ${turnLink(turnId, "turn")}`, elapsed(startedAt)] };
}

const storageColumns = [["Kind", true], ["Items", true], ["Size", true], ["Kept"]];

function storageRow({ name, items, bytes, kept }) {
  return { key: name, cells: [name, count(items), bytes === 0 ? "–" : size(bytes), kept] };
}

const changeColumns = [["Time", true], ["Part", true], ["State", true], ["Details"]];

function changeRow({ name, state, detail, role, at }) {
  const where = role === "all" ? "" : ` (${role})`;
  return {
    key: `${at} ${name} ${role}`,
    cells: [time(at), html`<span class="name">${name}${where}</span>`, badge(state), detail],
  };
}

/** A bar from the oldest known change to now, coloured by state. Screen readers get the same in words. */
function strip(name, changes, isComplete) {
  const ofPart = changes.filter((change) => change.name === name).toSorted((one, other) => one.at - other.at);
  if (ofPart.length === 0) return html`<span class="quiet">no change${isComplete ? "" : " among those shown"}</span>`;
  const now = Date.now();
  // A young history fills the bar, so that it can be seen.
  const from = Math.max(now - weekMs, ofPart[0].at);
  const spans = ofPart.map(({ at, state }, index) => ({
    state,
    start: Math.max(from, at),
    end: ofPart[index + 1]?.at ?? now,
  }));
  const worst = ["error", "warning"].find((kind) => spans.some(({ state }) => state === kind));
  const badMs = spans.filter(({ state }) => state === worst).reduce((sum, { start, end }) => sum + end - start, 0);
  const words = `${worst === undefined ? "no errors" : `${worst} for ${duration(0, badMs)}`} since ${moment(spans[0].start)}`;
  const place = (at) => ((at - from) / Math.max(1, now - from)) * 1000;
  return html`
    <svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=${words}>
      ${spans.map(({ state, start, end }) => svg`<rect class=${state} x=${place(start)} width=${Math.max(2, place(end) - place(start))} height="10"></rect>`)}
    </svg>
    <span class="quiet">${words}</span>`;
}
