/** Tables of answers scroll in a box of their own. A long table shows its first rows and offers the others. */
import { button, element } from "./dom.js";

/** The browser lays a table out as a whole, so rows come in steps. */
const maxShownRows = 200;
const rowsPerStep = 1_000;

export function tableBox(table) {
  const box = element("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Table" });
  table.replaceWith(box);
  box.append(table);
  const rows = [...table.querySelectorAll("tbody tr")];
  if (rows.length <= maxShownRows) return;
  const hidden = rows.slice(maxShownRows);
  for (const row of hidden) row.remove();
  const more = button(undefined, { class: "button show-all" });
  const label = () => {
    more.textContent = `Show ${Math.min(rowsPerStep, hidden.length).toLocaleString()} more of ${rows.length.toLocaleString()} rows`;
  };
  more.addEventListener("click", () => {
    table.querySelector("tbody").append(...hidden.splice(0, rowsPerStep));
    label();
    if (hidden.length > 0) return;
    box.focus();
    more.remove();
  });
  label();
  box.after(more);
}
