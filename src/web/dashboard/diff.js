/** Shows a unified diff. A long one is shown in portions, so that a megabyte of changes does not freeze the tab. */
import { diffLines } from "/dashboard/vendor/diff-lines.js";
import { openDialog } from "./dialog.js";
import { counted } from "./format.js";
import { html, nothing } from "./lit.js";
import { load } from "./session.js";

const linesPerPortion = 2_000;

function diffView(lines, label) {
  return html`<div class="diff" tabindex="0" role="region" aria-label=${label}>${lines.map(lineView)}</div>`;
}

function lineView({ kind, text }, index, lines) {
  const line = index === lines.length - 1 ? text : `${text}\n`;
  if (kind === "added") return html`<ins class="line-added">${line}</ins>`;
  if (kind === "removed") return html`<del class="line-removed">${line}</del>`;
  return html`<span class=${`line-${kind}`}>${line}</span>`;
}

/** Resolves to a problem, or to undefined if the dialog is open. */
export async function showDiff({ id, changes }) {
  const { data, problem } = await load(`/dashboard/diffs/${encodeURIComponent(id)}`);
  if (data === undefined) return problem;
  const lines = diffLines(data.diff);
  let shown = linesPerPortion;
  openDialog(`Diff. ${changes.title}`, ({ close, update }) => {
    const left = lines.length - shown;
    const more = () => {
      shown += linesPerPortion;
      update();
    };
    return html`
      <h3>${changes.title}</h3>
      ${diffView(lines.slice(0, shown), "The whole diff")}
      <div class="buttons">
        ${left > 0 ? html`<button type="button" @click=${more}>Show more (${counted(left, "line")} left)</button>` : nothing}
        <button type="button" @click=${close}>Close</button>
      </div>`;
  });
  return undefined;
}

export function shortDiff(text) {
  return diffView(diffLines(text), "The diff");
}
