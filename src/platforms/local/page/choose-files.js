/** The dialog for choosing which changed files to keep. */
import { changeView } from "./changes-view.js";
import { openDialog } from "./dialog.js";
import { element } from "./dom.js";

/** Resolves to the indexes of the files to keep (at least one), or to undefined if the dialog is closed. */
export function chooseFiles({ title, files, labels }) {
  const boxes = files.map(() => element("input", { type: "checkbox", checked: true }));
  const all = element("input", { type: "checkbox", checked: true });
  const problem = element("p", { class: "problem", role: "alert" });
  const submit = element("button", { type: "submit", class: "button primary" });
  const chosen = () => boxes.flatMap((box, index) => (box.checked ? [index] : []));

  function update() {
    const { length } = chosen();
    all.checked = length === files.length;
    all.indeterminate = length > 0 && length < files.length;
    submit.textContent = `Keep ${length} of ${files.length}`;
    if (length > 0) problem.textContent = "";
  }

  const form = element(
    "form",
    { method: "dialog" },
    element("h2", { text: "Choose the files to keep" }),
    element("p", { text: title }),
    element(
      "fieldset",
      { class: "choose-files" },
      element("legend", { class: "visually-hidden", text: "Files to keep" }),
      files.length > 1 && element("label", { class: "choose-all" }, all, element("span", { text: "All files" })),
      ...files.map((file, index) =>
        element("label", { class: `change ${file.action}` }, boxes[index], ...changeView(file)),
      ),
    ),
    problem,
    element(
      "div",
      { class: "dialog-buttons" },
      element("button", { type: "button", class: "button", text: "Cancel", onclick: () => dialog.close() }),
      submit,
    ),
  );
  let dialog;
  return new Promise((resolve) => {
    let parts;
    all.addEventListener("change", () => {
      for (const box of boxes) box.checked = all.checked;
    });
    form.addEventListener("change", update);
    form.addEventListener("submit", (event) => {
      if (chosen().length > 0) {
        parts = chosen();
        return;
      }
      event.preventDefault();
      problem.textContent = `Choose at least one file. To keep none, use “${labels.deny}” on the card.`;
    });
    update();
    dialog = openDialog({ title: "Choose the files to keep", className: "choose-dialog" }, form);
    dialog.addEventListener("close", () => resolve(parts));
  });
}
