/**
 * Open approvals, which the operator answers. Rows are keyed by approval, so a half-written reason, the focus and the
 * scroll position survive an update.
 */
import { shortDiff, showDiff } from "./diff.js";
import { elapsed } from "./format.js";
import { html, nothing, repeat } from "./lit.js";
import { isAtLeast } from "./me.js";
import { block, fileView, moreFilesText, turnLink } from "./parts.js";
import { act } from "./session.js";

/** `say` shows a sentence; `onAnswered` is called after each answer. */
export function createApprovals({ say, update, onAnswered }) {
  /** For each approval: the files that are not to be kept, and whether an answer is under way. */
  const states = new Map();

  const stateOf = (id) => {
    if (!states.has(id)) states.set(id, { left: new Set(), isBusy: false });
    return states.get(id);
  };

  async function answer(approval, choice, more = {}) {
    const state = stateOf(approval.id);
    state.isBusy = true;
    update();
    const { accepted, text } = await act("/dashboard/answers", { cardOrApprovalId: approval.id, choice, ...more });
    state.isBusy = false;
    say(`${titleOf(approval)}: ${text}`, accepted);
    document.getElementById("approvals-title")?.focus();
    onAnswered();
  }

  function approve(approval, { left }) {
    const kept = keptFiles(approval, left);
    if (kept === undefined) return answer(approval, "approve");
    if (kept.length > 0) return answer(approval, "part", { parts: kept });
    say(`Choose at least one file. To keep none, use “${labelsOf(approval).deny}”.`, false);
  }

  function deny(approval, event) {
    event.preventDefault();
    const reason = new FormData(event.target).get("reason").trim();
    answer(approval, "deny", reason === "" ? {} : { reason });
  }

  async function diff(approval) {
    const problem = await showDiff(approval);
    if (problem !== undefined) say(problem, false);
  }

  function row(approval) {
    const state = stateOf(approval.id);
    const labels = labelsOf(approval);
    const about = `${titleOf(approval)}, asked by ${approval.requester}`;
    const kept = keptFiles(approval, state.left);
    const approveLabel =
      kept === undefined ? labels.approve : `Keep ${kept.length} of ${approval.changes.files.length}`;
    return html`
      <li class="approval">
        <h3 class="headline">${lineParts(approval.headline)}</h3>
        ${head(approval)}
        ${approval.reason === null ? nothing : html`<p class="quiet">${approval.reason}</p>`}
        ${approval.changes === null ? block(approval.call, "The whole call") : changesView(approval, state)}
        ${approval.facts.map((fact) => html`<p class="fact">${fact}</p>`)}
        ${approval.undo === null ? nothing : html`<p class="quiet">${approval.undo}</p>`}
        ${approval.warning === null ? nothing : html`<p class="warning">${approval.warning}</p>`}
        ${approval.progress === null ? nothing : html`<p class="quiet">${approval.progress}</p>`}
        ${approval.canAnswer ? answers(approval, state, { labels, about, approveLabel }) : html`<p class="quiet">Only ${approval.approvers} can answer this.</p>`}
        ${approval.why.length === 0 ? nothing : html`<details class="why"><summary>Why this asks</summary><ul class="reasons">${approval.why.map((line) => html`<li>${line}</li>`)}</ul></details>`}
      </li>`;
  }

  function answers(approval, state, { labels, about, approveLabel }) {
    return html`
        <form class="answers" @submit=${(event) => deny(approval, event)}>
          <label>Reason, with ${labels.deny} (optional)
            <input name="reason" type="text" maxlength="2000" autocomplete="off" ?disabled=${state.isBusy}></label>
          ${
            approval.choices.includes("approve")
              ? html`<button type="button" class="approve" ?disabled=${state.isBusy} aria-label=${`${approveLabel}: ${about}`}
            @click=${() => approve(approval, state)}>${approveLabel}</button>`
              : nothing
          }
          <button type="submit" class="deny" ?disabled=${state.isBusy} aria-label=${`${labels.deny}: ${about}`}>${labels.deny}</button>
          ${approval.choices.includes("diff") ? html`<button type="button" @click=${() => diff(approval)}>Show diff</button>` : nothing}
        </form>`;
  }

  function changesView({ changes, choices }, state) {
    const { summary, files, moreFiles, moreWarned = 0, commands, moreCommands = 0, lastOutput, diff } = changes;
    const onToggle = (index, isKept) => {
      if (isKept) state.left.delete(index);
      else state.left.add(index);
      update();
    };
    return html`
      ${summary === "" ? nothing : html`<p class="quiet">${summary}</p>`}
      <ul class="files" aria-label="Changed files">
        ${files.map(
          (file, index) =>
            html`<li>${
              choices.includes("part")
                ? html`<label><input type="checkbox" .checked=${!state.left.has(index)} ?disabled=${state.isBusy}
                @change=${(event) => onToggle(index, event.target.checked)}> ${fileView(file)}</label>`
                : html`<span>${fileView(file)}</span>`
            }</li>`,
        )}
        ${moreFiles === 0 ? nothing : html`<li>${moreFilesText(moreFiles, moreWarned)}</li>`}
      </ul>
      ${moreCommands === 0 ? nothing : html`<p class="quiet">Earlier commands are in Show diff: ${moreCommands}.</p>`}
      ${commands.length === 0 ? nothing : html`<ul class="commands" aria-label="Commands that ran">${commands.map(({ text, outcome }) => html`<li><code>${text}</code> — ${outcome}</li>`)}</ul>`}
      ${lastOutput === undefined ? nothing : block(lastOutput, "Last output")}
      ${diff === undefined ? nothing : shortDiff(diff)}`;
  }

  return {
    view(approvals) {
      const open = new Set(approvals.map(({ id }) => id));
      for (const id of states.keys()) if (!open.has(id)) states.delete(id);
      return html`
        <section aria-labelledby="approvals-title">
          <h2 id="approvals-title" tabindex="-1">Open approvals <small>${approvals.length}</small></h2>
          ${approvals.length === 0 ? html`<p class="none">No approvals waiting${isAtLeast("operator") ? "" : " for you"}.</p>` : nothing}
          <ul class="approvals">${repeat(approvals, ({ id }) => id, row)}</ul>
        </section>`;
    },
  };
}

/** Returns the indexes of the files to keep, or undefined for all of them. */
function keptFiles({ changes }, left) {
  return left.size === 0 ? undefined : changes.files.flatMap((_file, index) => (left.has(index) ? [] : [index]));
}

function labelsOf({ labels }) {
  return labels ?? { approve: "Approve", deny: "Deny" };
}

function titleOf({ headline }) {
  return headline.replaceAll("`", "");
}

/** Pairs of backticks mark code. */
function lineParts(text) {
  const parts = text.split("`");
  return parts.length % 2 === 0
    ? text
    : parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

function head({ requester, conversationId, approvers, times, expiresAt, turnId }) {
  const identical = times > 1 ? ` · answers for ${times} identical calls` : "";
  const expires = expiresAt === null ? "never expires" : `expires in ${elapsed(Date.now(), expiresAt)}`;
  return html`
    <p class="about">
      Asked by ${requester} in <code>${conversationId}</code> · ${approvers}${identical} · ${expires}${isAtLeast("operator") ? html` · ${turnLink(turnId, "turn")}` : nothing}
    </p>`;
}
