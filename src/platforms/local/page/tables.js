/** Tables of answers scroll in a box of their own. A long table shows its first rows and offers the others. */
import { element } from "./dom.js";

const maxShownRows = 200;

export function tableBox(table) {
  const box = element("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Table" });
  table.replaceWith(box);
  box.append(table);
  const rows = [...table.querySelectorAll("tbody tr")];
  if (rows.length <= maxShownRows) return;
  const hidden = rows.slice(maxShownRows);
  for (const row of hidden) row.remove();
  const all = element("button", {
    type: "button",
    class: "button show-all",
    text: `Show all ${rows.length.toLocaleString()} rows`,
    onclick() {
      table.querySelector("tbody").append(...hidden);
      all.remove();
      box.focus();
    },
  });
  box.after(all);
}
