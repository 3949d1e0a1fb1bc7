/** Opens a modal dialog. Closing the dialog removes it, and the browser restores the focus. */
import { element } from "./dom.js";

export function openDialog({ title, className, closesOutside = false }, ...children) {
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
