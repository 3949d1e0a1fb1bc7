/** The dialog behind Hand over…: the people of this page. The server checks who may answer. */
import { request } from "./api.js";
import { openDialog } from "./dialog.js";
import { element } from "./dom.js";

/** Resolves to the id of the chosen person, or to undefined if the dialog is closed. */
export async function chooseApprover(me) {
  const { people } = await request("GET", `state?person=${encodeURIComponent(me.id)}`);
  const others = people.filter(({ id }) => id !== me.id);
  const menu = element(
    "select",
    { id: "hand-over-person", class: "hand-over-person" },
    ...others.map(({ id, name }) => element("option", { value: id, text: name })),
  );
  const form = element(
    "form",
    { method: "dialog" },
    element("h2", { text: "Hand over" }),
    element("p", { text: "Only somebody who can approve this. You can still answer too." }),
    element("label", { for: "hand-over-person", text: "Who should answer?" }),
    menu,
    element(
      "div",
      { class: "dialog-buttons" },
      element("button", { type: "button", class: "button", text: "Cancel", onclick: () => dialog.close() }),
      element("button", { type: "submit", class: "button primary", text: "Hand over", disabled: others.length === 0 }),
    ),
  );
  let dialog;
  return await new Promise((resolve) => {
    let chosen;
    form.addEventListener("submit", () => {
      chosen = menu.value;
    });
    dialog = openDialog({ title: "Hand over", className: "hand-over-dialog" }, form);
    dialog.addEventListener("close", () => resolve(chosen));
  });
}
