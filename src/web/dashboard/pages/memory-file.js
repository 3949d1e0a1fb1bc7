/** One file of memory with its entries. A correction that somebody else has overtaken is refused, and nothing is lost. */
import { confirmed } from "../dialog.js";
import { counted } from "../format.js";
import { html, nothing, repeat } from "../lit.js";
import { block, pageLinks, pageOf, section, waiting } from "../parts.js";
import { act } from "../session.js";

export function openFile(context) {
  const path = () => context.query.get("path") ?? "";
  const found = context.watch(
    () =>
      path() === ""
        ? undefined
        : `/dashboard/data/memory/file?${new URLSearchParams({ path: path(), page: pageOf(context.query) })}`,
    5_000,
  );
  /** The entry that is being corrected, with the text as typed so far. It stays when the file changes meanwhile. */
  let draft;

  async function remove({ hash, text }) {
    const first = text.split("\n", 1)[0];
    if (!(await confirmed("Delete this entry for good?", "Delete it", first))) return;
    tell(await act("/dashboard/memory/delete", { path: path(), hash }));
  }

  async function save(event) {
    event.preventDefault();
    const receipt = await act("/dashboard/memory/correct", { path: path(), hash: draft.hash, text: draft.text });
    if (receipt.accepted) draft = undefined;
    tell(receipt);
  }

  function tell({ accepted, text }) {
    context.say(text, accepted);
    context.refresh();
  }

  function edit(entry) {
    draft = { hash: entry.hash, text: entry.text };
    context.update();
    queueMicrotask(() => queueMicrotask(() => document.querySelector("textarea")?.focus()));
  }

  function cancel() {
    draft = undefined;
    context.update();
  }

  const form = () => html`
    <form class="entry" @submit=${save}>
      <label>Corrected text
        <textarea .value=${draft.text} maxlength="100000" @input=${(event) => {
          draft.text = event.target.value;
        }}></textarea></label>
      <p class="buttons"><button type="submit" class="approve">Save</button> <button type="button" @click=${cancel}>Cancel</button></p>
    </form>`;

  const entryView = (entry) => html`
    <div class="entry">
      ${block(entry.text, "Entry")}
      <p class="buttons">
        ${entry.canCorrect ? html`<button type="button" @click=${() => edit(entry)}>Correct</button>` : nothing}
        <button type="button" class="danger" @click=${() => remove(entry)}>Delete</button>
      </p>
    </div>`;

  return () => {
    if (found.data === undefined || found.data.file.path !== path()) return found.isGone ? gone() : waiting(found);
    const { file, rows, count, pageSize } = found.data;
    const isLost = draft !== undefined && rows.every(({ hash }) => hash !== draft.hash);
    return html`
      <p class="about"><a href=${`#/memory?${new URLSearchParams({ scope: file.scope })}`}>${file.scope}</a> · <code>${file.path}</code></p>
      ${isLost ? section("Your correction", form(), "this entry has changed meanwhile, so it can't be saved") : nothing}
      ${section(
        file.title,
        count === 0
          ? html`<p class="none">This file has no entries.</p>`
          : repeat(
              rows,
              ({ hash }, index) => `${hash} ${index}`,
              (entry) => (entry.hash === draft?.hash ? form() : entryView(entry)),
            ),
        counted(count, "entry", "entries"),
      )}
      ${pageLinks("#/memory", context.query, count, pageSize)}`;
  };
}

function gone() {
  return html`<p class="none">This file is gone. <a href="#/memory">See all memory</a></p>`;
}
