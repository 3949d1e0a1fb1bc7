/** The dialog for choosing which changed files to keep. */
import { changeView } from "./changes-view.js";
import { openForm } from "./dialog.js";
import { button, element } from "./dom.js";

/** Resolves to the indexes of the files to keep (at least one), or to undefined if the dialog is closed. */
export function chooseFiles({ title, files, labels }) {
  const boxes = files.map(() => element("input", { type: "checkbox", checked: true }));
  const all = element("input", { type: "checkbox", checked: true });
  const problem = element("p", { class: "problem", role: "alert" });
  const submit = button("", { type: "submit", class: "button primary" });
  const chosen = () => boxes.flatMap((box, index) => (box.checked ? [index] : []));

  function update() {
    const { length } = chosen();
    all.checked = length === files.length;
    all.indeterminate = length > 0 && length < files.length;
    submit.textContent = `Keep ${length} of ${files.length}`;
    if (length > 0) problem.textContent = "";
  }

  function read() {
    if (chosen().length > 0) return chosen();
    problem.textContent = `Choose at least one file. To keep none, use “${labels.deny}” on the card.`;
    return undefined;
  }

  const list = element(
    "fieldset",
    { class: "choose-files" },
    element("legend", { class: "visually-hidden", text: "Files to keep" }),
    files.length > 1 && element("label", { class: "choose-all" }, all, element("span", { text: "All files" })),
    ...files.map((file, index) =>
      element("label", { class: `change ${file.action}` }, boxes[index], ...changeView(file)),
    ),
  );
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  list.addEventListener("change", update);
  update();
  const about = { title: "Choose the files to keep", about: title, className: "choose-dialog", submit };
  return openForm(about, read, list, problem);
}
