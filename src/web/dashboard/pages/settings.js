/** The settings in force, and where each comes from. They are changed in the file or the environment. */
import { html } from "../lit.js";
import { badge, section, table, waiting } from "../parts.js";

const sources = { default: ["off", "default"], file: ["ok", "file"], environment: ["ok", "environment"] };
const columns = [["Setting"], ["Value"], ["From", true], ["Where"]];

export function openSettings(context) {
  const found = context.watch(() => "/dashboard/data/settings", null);
  const search = (event) => {
    context.query.set("find", event.target.value);
    context.update();
  };
  const onlyChanged = (event) => {
    context.query.set("changed", event.target.checked ? "1" : "");
    context.update();
  };

  return () => {
    if (found.data === undefined) return waiting(found);
    const { configFile, settings } = found.data;
    const words = (context.query.get("find") ?? "").toLowerCase();
    const isChanged = context.query.get("changed") === "1";
    const shown = settings.filter(
      ({ key, value, isDefault }) => `${key} ${value}`.toLowerCase().includes(words) && !(isChanged && isDefault),
    );
    const rows = shown.map(({ key, value, source, place, isDefault }) => ({
      key,
      cells: [
        html`<code>${key}</code>`,
        html`<code>${value}</code>`,
        badge(...sources[source]),
        isDefault && source === "file" ? `${place}, same as the default` : place,
      ],
    }));
    return html`
      <form class="search" role="search" @submit=${(event) => event.preventDefault()}>
        <label>Find a setting <input type="search" .value=${words} @input=${search}></label>
        <label class="check"><input type="checkbox" .checked=${isChanged} @change=${onlyChanged}> Only those that are not defaults</label>
      </form>
      ${section("Settings in force", table("Settings", columns, rows, "No setting matches."), `${shown.length} of ${settings.length}`)}
      <p class="quiet">They are read from <code>${configFile}</code>, <code>.env</code> and the environment. What changed and needs a restart is on the Health page. The values of secrets are never shown.</p>`;
  };
}
