/** Memory, scope by scope: search, and open a file to read, correct or delete its entries. */
import { counted } from "../format.js";
import { html } from "../lit.js";
import { pageLinks, pageOf, section, table, waiting } from "../parts.js";
import { openFile } from "./memory-file.js";

const kinds = { knowledge: "note", episode: "conversations", feedback: "decisions" };

export function openMemory(context) {
  const scopes = context.watch(() => "/dashboard/data/memory/scopes", 10_000);
  const wanted = (name) => context.query.get(name) ?? "";
  const found = context.watch(() => {
    const query = new URLSearchParams({ scope: wanted("scope"), page: pageOf(context.query) });
    if (wanted("path") !== "") return undefined;
    if (wanted("query") !== "")
      return `/dashboard/data/memory/search?${new URLSearchParams({ query: wanted("query"), scope: wanted("scope") })}`;
    return context.query.has("scope") ? `/dashboard/data/memory/files?${query}` : undefined;
  }, 5_000);
  const file = openFile(context);

  function search(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    const filled = ["scope", "query"].map((name) => [name, form.get(name).trim()]).filter(([, value]) => value !== "");
    location.hash = `#/memory?${new URLSearchParams(filled)}`;
  }

  return () => {
    if (scopes.data === undefined) return waiting(scopes);
    return html`
      ${searchForm(scopes.data.scopes, context.query, search)}
      ${wanted("path") !== "" ? file() : content(scopes.data.scopes)}`;
  };

  function content(all) {
    if (wanted("query") === "" && !context.query.has("scope")) return scopesView(all);
    if (found.data === undefined) return waiting(found);
    if (wanted("query") !== "") return found.data.hits === undefined ? waiting(found) : hitsView(found.data.hits);
    return found.data.rows === undefined ? waiting(found) : filesView(found.data, wanted("scope"), context.query);
  }
}

function searchForm(scopes, query, onSearch) {
  const scope = query.get("scope") ?? "";
  return html`
    <form class="search" role="search" @submit=${onSearch}>
      <label>Words <input name="query" type="search" .value=${query.get("query") ?? ""} maxlength="500"></label>
      <label>Whose memory <select name="scope">
        <option value="">all</option>
        ${scopes.map((one) => html`<option value=${one.scope} ?selected=${one.scope === scope}>${one.scope}</option>`)}
      </select></label>
      <button type="submit">Search</button>
    </form>`;
}

function scopesView(scopes) {
  const rows = scopes.map(({ scope, files }) => ({
    key: scope,
    cells: [
      html`<a href=${`#/memory?${new URLSearchParams({ scope })}`}>${scope}</a>`,
      `${files.knowledge}`,
      `${files.episode}`,
      `${files.feedback}`,
    ],
  }));
  const columns = [["Whose memory"], ["Notes", true], ["Days with conversations", true], ["Days with decisions", true]];
  return section(
    "Memory",
    table("Memory", columns, rows, "Nothing is remembered yet."),
    counted(scopes.length, "scope"),
  );
}

function filesView({ rows: files, count, pageSize }, scope, query) {
  const rows = files.map(({ path, kind, title }) => ({ key: path, cells: [fileLink(path, title), kinds[kind]] }));
  return html`
    ${section(scope, table("Files", [["File"], ["Kind", true]], rows, "Nothing is remembered here."), counted(count, "file"))}
    ${pageLinks("#/memory", query, count, pageSize)}`;
}

function hitsView(hits) {
  const rows = hits.map(({ path, heading, at, scope, text }, index) => ({
    key: `${index} ${path}`,
    cells: [
      html`${fileLink(path, heading === "" ? path : heading)} <span class="quiet">${scope}${at === "" ? "" : ` · ${at.slice(0, 10)}`}</span>`,
      text,
    ],
  }));
  return section("Found", table("Found", [["Entry"], ["Text"]], rows, "Nothing matches."), "best first");
}

function fileLink(path, text) {
  if (!path.startsWith("brain/")) return html`${text} <span class="quiet">a document, only changed in its file</span>`;
  return html`<a href=${`#/memory?${new URLSearchParams({ path })}`}>${text}</a>`;
}
