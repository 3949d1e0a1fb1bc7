/** The calls and the kept changes of a turn. */
import { counted, duration, elapsed } from "../format.js";
import { html, nothing } from "../lit.js";
import { badge, block, fileView, moreFilesText, time } from "../parts.js";

const outcomes = {
  ok: ["ok", "done"],
  failed: ["error", "failed"],
  invalid: ["error", "not a valid call"],
  denied: ["warning", "denied"],
  blocked: ["error", "blocked"],
  interrupted: ["warning", "interrupted"],
  waiting: ["warning", "waiting"],
  running: ["ok", "running"],
  "not-run": ["off", "not run"],
};
const verdicts = { allowed: "Allowed without asking", asked: "Asked first", blocked: "Blocked" };

export function callView(call) {
  const { headline, tool, callText, outcome, verdict, why, rules, editedBy, startedAt, durationMs, attempts, files } =
    call;
  const [kind, word] = outcomes[outcome] ?? ["off", outcome];
  return html`
    <div class="entry call">
      <h3>${badge(kind, word)} ${headline} <small class="quiet">${tool}</small></h3>
      ${block(callText, "The whole call")}
      <ul class="facts">
        ${verdict in verdicts ? html`<li>${verdicts[verdict]}${why.length === 0 ? "" : `: ${why.join(" ")}`}</li>` : nothing}
        ${rules.map((rule) => html`<li class="quiet">Rule: ${rule}</li>`)}
        ${call.approval === undefined ? nothing : html`<li>${approvalView(call.approval)}</li>`}
        ${editedBy === undefined ? nothing : html`<li>Edited by ${editedBy}</li>`}
        ${startedAt === undefined ? nothing : html`<li>Started ${time(startedAt)}${durationMs === undefined ? `, ${elapsed(startedAt)} ago` : `, took ${duration(0, durationMs)}`}${attempts > 1 ? `, ${counted(attempts, "attempt")}` : ""}</li>`}
        ${files.length === 0 ? nothing : html`<li>Files: ${files.join(", ")}</li>`}
      </ul>
      ${call.result === "" ? nothing : block(call.result, "The result")}
      ${call.isResultCut ? html`<p class="quiet">This is the beginning. The prompt of the next step has what the model read.</p>` : nothing}
    </div>`;
}

function approvalView({ state, by, decidedAt, isInAdvance, reason }) {
  const names = [...new Set(by.map(({ name, isOperator }) => (isOperator ? "the operator" : name)))].join(", ");
  const words = {
    open: "Waiting for an answer",
    approved: isInAdvance ? `Allowed in advance by ${names}` : `Approved by ${names}`,
    denied: `Denied by ${names === "" ? "Remora" : names}`,
    expired: "Nobody answered in time",
    cancelled: "Cancelled",
  };
  return html`${words[state] ?? state}${decidedAt === undefined ? nothing : html`, ${time(decidedAt)}`}${reason === undefined ? "" : `: ${reason}`}`;
}

export function changesView({ title, state, by, result, files, moreFiles, moreWarned }) {
  return html`
    <div class="entry">
      <p class="about"><strong>${title}</strong> · ${state}${by === undefined ? "" : ` by ${by}`}</p>
      ${result === "" ? nothing : html`<p class="quiet">${result}</p>`}
      <ul class="files" aria-label="Changed files">
        ${files.map((file) => html`<li><span>${fileView(file)}</span></li>`)}
        ${moreFiles === 0 ? nothing : html`<li>${moreFilesText(moreFiles, moreWarned)}</li>`}
      </ul>
    </div>`;
}
