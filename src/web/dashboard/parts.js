/** Pieces that several pages show. */
import { moment } from "./format.js";
import { html, nothing, repeat } from "./lit.js";

export function badge(kind, text = kind) {
  return html`<span class="state ${kind}">${text}</span>`;
}

export function time(at) {
  return at === null || at === undefined
    ? nothing
    : html`<time datetime=${new Date(at).toISOString()}>${moment(at)}</time>`;
}

/** A changed file. */
export function fileView({ path, action, detail, warning }) {
  return html`<span class="action ${action}">${action}</span> <span><bdi class="path">${path}</bdi> <bdi class="quiet">${detail}</bdi>${warning === undefined ? nothing : html` <strong>${warning}</strong>`}</span>`;
}

/** How many changed files are not listed, and how many of them carry a warning. */
export function moreFilesText(count, warned = 0) {
  const files = count === 1 ? "and 1 more file" : `and ${count.toLocaleString("en")} more files`;
  if (warned === 0) return files;
  if (count === 1) return `${files}, which can run by itself outside the sandbox`;
  return `${files}, ${warned.toLocaleString("en")} of which can run by themselves outside the sandbox`;
}

/** A section with a heading; `note` is shown beside it. */
export function section(title, content, note = "") {
  return html`
    <section>
      <h2>${title}${note === "" ? nothing : html` <small>${note}</small>`}</h2>
      ${content}
    </section>`;
}

/**
 * `columns` are `[name, isShort]`. `rows` are `{ key, cells }`: rows with a known key keep their elements, and so their
 * focus. On narrow screens, each row becomes a block, and each cell shows its column's name.
 */
export function table(label, columns, rows, none) {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  return html`
    <div class="scroll">
      <table aria-label=${label}>
        <thead>
          <tr>${columns.map(([name, isShort]) => html`<th scope="col" class=${isShort ? "short" : ""}>${name}</th>`)}</tr>
        </thead>
        <tbody>
          ${repeat(
            rows,
            ({ key }) => key,
            ({ cells }) =>
              html`<tr>${cells.map(
                (cell, index) =>
                  html`<td data-label=${columns[index][0]} class=${columns[index][1] ? "short" : ""}><div>${cell}</div></td>`,
              )}</tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}

/** What a page shows until its data is there. */
export function waiting({ problem }) {
  return html`<p class="none">${problem ?? "Loading …"}</p>`;
}

export function turnLink(id, text = id) {
  return html`<a href=${`#/turns/${encodeURIComponent(id)}`}>${text}</a>`;
}

/** Text of people, tools and models: on its own lines, with its line breaks, and no wider than the page. */
export function block(text, label) {
  return html`<pre tabindex="0" role="region" aria-label=${label}>${text}</pre>`;
}

export function pageOf(query) {
  return Math.max(1, Number.parseInt(query.get("page") ?? "1", 10) || 1);
}

/** Links to the pages before and after this one. */
export function pageLinks(address, query, count, pageSize) {
  const page = pageOf(query);
  const last = Math.max(1, Math.ceil(count / pageSize));
  if (last === 1 && page === 1) return nothing;
  const to = (number) => {
    const next = new URLSearchParams(query);
    next.set("page", number);
    return `${address}?${next}`;
  };
  return html`
    <p class="paging">
      ${page > 1 ? html`<a href=${to(Math.min(page - 1, last))}>Back</a>` : nothing}
      <span>Page ${page} of ${last}</span>
      ${page < last ? html`<a href=${to(page + 1)}>More</a>` : nothing}
    </p>`;
}
