/** What waits for an answer, what runs, and what is not well. */
import { createApprovals } from "../approvals.js";
import { confirmed } from "../dialog.js";
import { counted, elapsed } from "../format.js";
import { html, nothing } from "../lit.js";
import { isAtLeast } from "../me.js";
import { badge, section, table, turnLink, waiting } from "../parts.js";
import { act } from "../session.js";

const stateKinds = { running: "ok", parked: "warning", queued: "off" };

export function openNow({ watch, refresh, update, say }) {
  const now = watch(() => "/dashboard/data");
  const approvals = createApprovals({ say, update, onAnswered: refresh });
  return () => {
    if (now.data === undefined) return waiting(now);
    const { version, startedAt, problems, live } = now.data;
    return html`
      ${
        problems.length === 0
          ? nothing
          : html`<ul class="health">${problems.map(
              ({ name, state, detail }) => html`<li>${badge(state, name)} ${detail}</li>`,
            )}</ul>`
      }
      ${isAtLeast("approver") ? approvals.view(now.data.approvals) : nothing}
      ${liveTurns(live, { say, refresh })}
      <p class="quiet">Version ${version}, running for ${elapsed(startedAt)}. <a href="#/health">Health</a></p>`;
  };
}

function liveTurns({ turns, counts }, actions) {
  const hidden = counts.running + counts.parked + counts.queued - turns.length;
  const note = `${counts.running} running, ${counts.parked} waiting for people, ${counts.queued} queued`;
  const rows = turns.map(({ id, state, who, text, doing, since, startedAt }) => ({
    key: `${state}:${id}`,
    cells: [
      badge(stateKinds[state], state === "parked" ? "waiting" : state),
      who,
      html`${state === "queued" ? text : turnLink(id, text === "" ? "(no text)" : text)}
        <span class="quiet">${doing}, ${elapsed(since)}</span>`,
      elapsed(startedAt),
      state === "queued" ? nothing : stopButton(id, who, actions),
    ],
  }));
  const columns = [["State", true], ["Who", true], ["Message"], ["Since", true], ["Stop", true]];
  return section(
    "Live turns",
    html`${hidden > 0 && rows.length === 0 ? nothing : table("Live turns", columns, rows, "Nothing is running or waiting.")}
      ${hidden > 0 ? html`<p class="none">${counted(hidden, "more turn")}. ${isAtLeast("operator") ? html`<a href="#/turns">See all turns</a>` : nothing}</p>` : nothing}`,
    note,
  );
}

export function stopButton(id, who, { say, refresh }) {
  const stop = async () => {
    const question = `Stop the turn of ${who}?`;
    if (!(await confirmed(question, "Stop it", "Its open approvals are cancelled. What it has already done stays.")))
      return;
    const { accepted, text } = await act("/dashboard/turns/stop", { turnId: id });
    say(text, accepted);
    refresh();
  };
  return html`<button type="button" class="danger" aria-label=${`Stop the turn of ${who}`} @click=${stop}>Stop</button>`;
}
