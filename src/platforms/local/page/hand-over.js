/** The dialog behind Hand over…: the people of this page. The server checks who may answer. */
import { request } from "./api.js";
import { openForm } from "./dialog.js";
import { button, element } from "./dom.js";

/** Resolves to the id of the chosen person, or to undefined if the dialog is closed. */
export async function chooseApprover(me) {
  const { people } = await request("GET", `state?person=${encodeURIComponent(me.id)}`);
  const others = people.filter(({ id }) => id !== me.id);
  const menu = element(
    "select",
    { id: "hand-over-person", class: "hand-over-person" },
    ...others.map(({ id, name }) => element("option", { value: id, text: name })),
  );
  return await openForm(
    {
      title: "Hand over",
      about: "Only somebody who can approve this. You can still answer too.",
      className: "hand-over-dialog",
      submit: button("Hand over", { type: "submit", class: "button primary", disabled: others.length === 0 }),
    },
    () => menu.value,
    element("label", { for: "hand-over-person", text: "Who should answer?" }),
    menu,
  );
}
