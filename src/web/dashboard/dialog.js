/** Modal dialogs. The focus returns to where it was when a dialog closes. */
import { html, nothing, render } from "./lit.js";

/** `view` gets `close` and `update`, and returns the content. */
export function openDialog(label, view) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", label);
  const close = () => dialog.close();
  const update = () => render(view({ close, update }), dialog);
  dialog.addEventListener("close", () => dialog.remove());
  update();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Resolves to true if the person agrees. */
export function confirmed(question, agree, more) {
  return new Promise((resolve) => {
    let isAgreed = false;
    const onAgree = (close) => {
      isAgreed = true;
      close();
    };
    const dialog = openDialog(
      question,
      ({ close }) => html`
        <p class="question">${question}</p>
        ${more === undefined ? nothing : html`<p class="quiet">${more}</p>`}
        <div class="buttons">
          <button type="button" class="danger" @click=${() => onAgree(close)}>${agree}</button>
          <button type="button" autofocus @click=${close}>Cancel</button>
        </div>`,
    );
    dialog.addEventListener("close", () => resolve(isAgreed));
  });
}
