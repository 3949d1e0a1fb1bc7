/** Modal dialogs. Closing a dialog removes it, and the browser restores the focus. */
import { button, element } from "./dom.js";

export function openDialog({ title, className = "", closesOutside = false }, ...children) {
  const dialog = element(
    "dialog",
    { class: `dialog ${className}`, "aria-label": title, closedby: closesOutside && "any" },
    ...children,
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * A form with Cancel and the button `submit`. Resolves to what `read()` returns or resolves to, or to undefined if it is
 * closed. If that is undefined, the form stays open.
 */
export function openForm({ title, about, className, submit }, read, ...content) {
  return new Promise((resolve) => {
    let answer;
    const form = element(
      "form",
      { method: "dialog" },
      element("h2", { text: title }),
      element("p", { text: about }),
      ...content,
      element("div", { class: "dialog-buttons" }, button("Cancel", { onclick: () => dialog.close() }), submit),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      submit.disabled = true;
      answer = await read();
      submit.disabled = false;
      if (answer !== undefined) dialog.close();
    });
    const dialog = openDialog({ title, className }, form);
    dialog.addEventListener("close", () => resolve(answer));
  });
}

/** Resolves to undefined if closed. Without `label`, only confirms. `check` gives, or resolves to, a problem, or "". */
export function ask({ title, about, label, value = "", isLong = false, submit, isDanger = false, check = () => "" }) {
  const field = element(isLong ? "textarea" : "input", {
    id: "dialog-field",
    spellcheck: "false",
    autocomplete: "off",
    autofocus: true,
  });
  field.value = value;
  const problem = element("p", { class: "problem", role: "alert" });
  const kind = isDanger ? "danger" : "primary";
  const confirm = button(submit, { type: "submit", class: `button ${kind}` });
  async function read() {
    problem.textContent = label ? await check(field.value) : "";
    if (problem.textContent === "") return field.value;
    field.focus();
    return undefined;
  }
  const content = label ? [element("label", { for: "dialog-field", text: label }), field, problem] : [];
  return openForm({ title, about, submit: confirm }, read, ...content);
}
