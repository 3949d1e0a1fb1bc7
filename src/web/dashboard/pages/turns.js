/** All turns, newest first, with a search. The address holds the search, so it can be bookmarked. */
import { duration, elapsed, moment } from "../format.js";
import { html, nothing } from "../lit.js";
import { badge, section, table, time, turnLink, waiting } from "../parts.js";

const turnStates = { done: "ok", running: "ok", parked: "warning", failed: "error", stopped: "off" };
const fields = ["person", "conversation", "text", "state", "day"];

/** People read `waiting` for a turn that waits for them. */
export function turnState(state) {
  return badge(turnStates[state] ?? "off", state === "parked" ? "waiting" : state);
}

export function openTurns(context) {
  const found = context.watch(() => `/dashboard/data/turns?${serverQuery(context.query)}`);

  function search(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    const filled = fields.map((name) => [name, form.get(name).trim()]).filter(([, value]) => value !== "");
    location.hash = `#/turns?${new URLSearchParams(filled)}`;
  }

  return () => html`
    ${searchForm(context.query, search)}
    ${found.data === undefined ? waiting(found) : results(found.data, context.query)}`;
}

function searchForm(query, onSearch) {
  const value = (name) => query.get(name) ?? "";
  return html`
    <form class="search" role="search" @submit=${onSearch}>
      <label>Person <input name="person" .value=${value("person")} maxlength="200" autocomplete="off"></label>
      <label>Conversation <input name="conversation" .value=${value("conversation")} maxlength="400" autocomplete="off"></label>
      <label>Words <input name="text" .value=${value("text")} maxlength="200" autocomplete="off"></label>
      <label>Day <input name="day" type="date" .value=${value("day")}></label>
      <label>State <select name="state" .value=${value("state")}>
        <option value="">any</option>
        ${Object.keys(turnStates).map((state) => html`<option value=${state} ?selected=${state === value("state")}>${state === "parked" ? "waiting" : state}</option>`)}
      </select></label>
      <button type="submit">Search</button>
    </form>`;
}

/** The server knows no time zone, so a day becomes two times. */
function serverQuery(query) {
  const wanted = new URLSearchParams(query);
  const [year, month, day] = (query.get("day") ?? "").split("-").map(Number);
  wanted.delete("day");
  if (day !== undefined) {
    wanted.set("from", String(new Date(year, month - 1, day).getTime()));
    wanted.set("to", String(new Date(year, month - 1, day + 1).getTime()));
  }
  return wanted;
}

function results({ turns, older, searchedTo }, query) {
  const rows = turns.map((turn) => ({
    key: turn.id,
    cells: [
      html`${turnState(turn.state)} ${callProblems(turn)}`,
      turn.who,
      html`${turnLink(turn.id, turn.text === "" ? "(no text)" : turn.text)} <span class="quiet">${turn.conversationId}</span>`,
      `${turn.steps} / ${turn.calls}`,
      time(turn.startedAt),
      turn.endedAt === null ? elapsed(turn.startedAt) : duration(turn.startedAt, turn.endedAt),
    ],
  }));
  const columns = [
    ["State", true],
    ["Who", true],
    ["Message"],
    ["Steps / calls", true],
    ["Started", true],
    ["Took", true],
  ];
  const isSearch = fields.some((name) => query.has(name));
  const none = isSearch ? "No turns match." : "No turns yet. Mention the agent in the chat.";
  return html`
    ${section("Turns", table("Turns", columns, rows, none), query.has("before") ? "older" : "newest first")}
    <p class="paging">
      ${query.has("before") ? html`<a href=${`#/turns?${without(query, "before")}`}>Newest</a>` : nothing}
      ${older === null ? nothing : html`<a href=${`#/turns?${withValue(query, "before", older)}`}>Older</a>`}
      ${older !== null && searchedTo !== null && isSearch ? html`<span class="quiet">Searched back to ${moment(searchedTo)}.</span>` : nothing}
    </p>`;
}

/** A turn can end well although somebody denied a call, and an operator looks for exactly those. */
function callProblems({ failedCalls, interruptedCalls, deniedCalls }) {
  const words = [
    failedCalls > 0 && `${failedCalls} failed`,
    interruptedCalls > 0 && `${interruptedCalls} interrupted`,
    deniedCalls > 0 && `${deniedCalls} denied`,
  ].filter(Boolean);
  return words.length === 0 ? nothing : html`<span class="quiet">${words.join(", ")}</span>`;
}

function without(query, name) {
  const rest = new URLSearchParams(query);
  rest.delete(name);
  return rest;
}

function withValue(query, name, value) {
  const next = new URLSearchParams(query);
  next.set(name, value);
  return next;
}
