/** One turn: what was asked, each step with its calls, the prompts that the model saw, and the lines of the log. */
import { formatDollars, tokensText } from "/dashboard/vendor/format-usage.mjs";
import { openDialog } from "../dialog.js";
import { count, counted, duration, elapsed } from "../format.js";
import { html, nothing } from "../lit.js";
import { block, section, table, time, waiting } from "../parts.js";
import { load } from "../session.js";
import { stopButton } from "./now.js";
import { callView, changesView } from "./turn-calls.js";
import { turnState } from "./turns.js";

export function openTurn({ id, watch, refresh, update, say }) {
  const address = `/dashboard/data/turns/${encodeURIComponent(id)}`;
  const found = watch(() => address);
  let log;

  async function showLog(before = { lines: [] }) {
    log = { isLoading: true };
    update();
    const place = before.next ? `?after=${encodeURIComponent(before.next)}` : "";
    const { data, problem } = await load(`${address}/log${place}`);
    log = data === undefined ? { ...before, problem } : { lines: [...before.lines, ...data.lines], next: data.next };
    update();
  }

  async function showPrompt(step) {
    const { data, problem } = await load(`${address}/prompts/${step}`);
    if (data === undefined) return say(problem, false);
    openDialog(
      `Prompt of step ${step}`,
      ({ close }) => html`
        <h3>Prompt of step ${step}</h3>
        ${block(data.text, "What the model saw")}
        <div class="buttons"><button type="button" @click=${close}>Close</button></div>`,
    );
  }

  return () => {
    if (found.data === undefined) return found.isGone ? gone(id) : waiting(found);
    const { report, doing, messages, texts, prompts } = found.data;
    return html`
      ${found.isGone ? html`<p class="banner">This turn has been removed meanwhile. This is how it was.</p>` : nothing}
      ${summary(report)}
      ${
        doing === null
          ? nothing
          : html`<p class="about">${doing.doing}, ${elapsed(doing.since)} ${stopButton(id, report.requester.name, { say, refresh })}</p>`
      }
      ${report.failure === undefined ? nothing : html`<p class="fact">${report.failure}</p>`}
      ${section("Asked", messages.map(messageView))}
      ${report.steps.map((step, index) => section(`Step ${step.number}`, stepView(step, texts[index] ?? ""), stepNote(step)))}
      ${report.changes.length === 0 ? nothing : section("Changes", report.changes.map(changesView))}
      ${
        report.othersTexts.length === 0
          ? nothing
          : section(
              "Text of others in the prompts",
              html`<ul class="facts entry">${report.othersTexts.map((text) => html`<li>${text}</li>`)}</ul>`,
            )
      }
      ${section("Prompts", promptsView(prompts, showPrompt))}
      ${section("Log", logView(log, showLog))}`;
  };
}

function gone(id) {
  return html`<p class="none">There is no turn <code>${id}</code>. Turns are kept for 30 days. <a href="#/turns">See all turns</a></p>`;
}

function summary({
  turnId,
  requester,
  conversationId,
  state,
  startedAt,
  endedAt,
  workedMs,
  waitedMs,
  waitedFor,
  tokens,
  steps,
  cost,
  unpricedSteps,
}) {
  const waited =
    waitedMs < 1_000
      ? ""
      : `, waited ${duration(0, waitedMs)}${waitedFor.length === 0 ? "" : ` for ${waitedFor.join(", ")}`}`;
  const used = tokensText(
    steps.map(({ usage }) => usage),
    count,
  );
  const price =
    cost === undefined
      ? ""
      : ` · ${formatDollars(cost)}${unpricedSteps === 0 ? "" : ` without ${counted(unpricedSteps, "step")} that no price is known for`}`;
  return html`
    <p class="about">
      ${turnState(state)} ${requester.name} in
      <a href=${`#/turns?${new URLSearchParams({ conversation: conversationId })}`}>${conversationId}</a> · ${time(startedAt)} ·
      ${endedAt === undefined ? `for ${elapsed(startedAt)}` : `worked ${duration(0, workedMs)}`}${waited} · ${counted(tokens, "token")} (${used})${price} · <code>${turnId}</code>
    </p>`;
}

function messageView({ who, text, at, files }) {
  return html`
    <div class="entry">
      <p class="about"><strong>${who}</strong> · ${time(at)}${files.length === 0 ? nothing : ` · ${files.join(", ")}`}</p>
      ${block(text === "" ? "(no text)" : text, `Message of ${who}`)}
    </div>`;
}

function stepNote({ model, requestedModel, cost, at }) {
  const instead = requestedModel === undefined ? "" : ` instead of ${requestedModel}`;
  return html`${model}${instead}${cost === undefined ? "" : ` · ${formatDollars(cost)}`} · ${time(at)}`;
}

function stepView({ calls, usage }, text) {
  return html`
    ${text === "" ? nothing : html`<div class="entry">${block(text, "What the model wrote")}</div>`}
    ${calls.map(callView)}
    <p class="quiet entry">Tokens: ${tokensText([usage], count)}</p>`;
}

function promptsView(prompts, onShow) {
  if (prompts.length === 0)
    return html`<p class="none">The prompts of this turn are no longer stored. The newest 50 are kept.</p>`;
  return html`<p class="buttons">${prompts.map((step) => html`<button type="button" aria-label=${`Prompt of step ${step}`} @click=${() => onShow(step)}>Step ${step}</button>`)}</p>`;
}

function logView(log, onLoad) {
  const button = (label, before) =>
    html`<p class="buttons"><button type="button" @click=${() => onLoad(before)}>${label}</button></p>`;
  if (log === undefined) return button("Show the log of this turn");
  if (log.isLoading) return html`<p class="none">Loading …</p>`;
  if (log.problem !== undefined)
    return html`<p class="none">${log.problem}</p>${button("Try again", log.next === undefined ? undefined : log)}`;
  const rows = log.lines.map(({ at, event, fields }, index) => ({
    key: index,
    cells: [time(Date.parse(at)), html`<code>${event}</code>`, html`<code>${fields}</code>`],
  }));
  return html`
    ${table("Log", [["Time", true], ["Event", true], ["Details"]], rows, "No line of the log names this turn. It may have been pruned.")}
    ${log.next === null ? button("Load again") : html`<p class="none">The log goes on.</p>${button("Show more", log)}`}`;
}
