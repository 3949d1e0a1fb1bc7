/** A dialog of its own above everything else; gone once it is closed, and the focus goes back to where it was. */
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
