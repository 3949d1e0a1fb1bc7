/** Approval cards. A person answers on the card; the server sends the outcome to everybody. */
import { buttonsView, labels, looks } from "./card-buttons.js";
import { askedChanges, factsView, reportedChanges } from "./changes-view.js";
import { click } from "./click.js";
import { showDiff } from "./diff-view.js";
import { element } from "./dom.js";

const states = {
  open: "Waiting for an answer",
  approved: "Approved",
  consumed: "Approved",
  denied: "Denied",
  expired: "Expired",
  cancelled: "Cancelled",
};

export function cardView(message, me) {
  const { card } = message;
  const open = card.items.filter((item) => item.state === "open");
  const isOpen = open.length > 0;
  const isReport = !isOpen && card.items.every((item) => item.changes !== undefined);
  const receipt = element("p", { class: "card-receipt", role: "status" });

  async function send(cardOrApprovalId, choice, more = {}) {
    const from = document.activeElement;
    const body = { person: me.id, messageId: message.id, cardOrApprovalId, choice, ...more };
    const answer = await click(view, receipt, "answers", body);
    if (answer?.file === undefined) return;
    // The disabled button lost the focus. Restore the focus so that the dialog can return it to the button later.
    from?.focus({ preventScroll: true });
    const changed = card.items.find((item) => item.approvalId === cardOrApprovalId)?.changes;
    showDiff(answer.file, changed?.title ?? answer.file.name);
  }

  send.me = me;
  const title = isOpen ? "Approval needed" : isReport ? "Changes" : "Approval";
  const view = element(
    "section",
    { class: isOpen ? "card waiting" : isReport ? "card report" : "card", tabindex: "-1", "aria-label": title },
    !isReport &&
      element(
        "div",
        { class: "card-head" },
        element("h3", { text: title }),
        isOpen && card.expiresAt !== null && expiry(card.expiresAt),
      ),
    ...card.items.map((item) => (item.changes === undefined ? callItem(item, send) : changesItem(item, send))),
    open.length > 1 && allView(card, open, send),
    element("div", { class: "card-foot" }, !isReport && element("span", { text: whoText(card, isOpen) }), receipt),
  );
  return view;
}

function whoText(card, isOpen) {
  const asked = `Requested by ${card.requesterName}`;
  return isOpen ? `${asked} · ${card.approversText}` : asked;
}

function callItem(item, send) {
  const { tool, callText, reasons, times, editedFrom, state } = item;
  const isOpen = state === "open";
  return element(
    "div",
    { class: "card-item" },
    !callText.startsWith(`${tool}\n`) && element("p", { class: "card-tool", text: tool }),
    times > 1 && element("p", { class: "card-times", text: `${times} identical calls, one answer` }),
    callView(callText, `Full ${tool} call`),
    editedFrom && element("p", { class: "card-note", text: "Edited. Original call:" }),
    editedFrom && callView(editedFrom, "The original call"),
    factsView(item.facts),
    element(
      "ul",
      { class: "card-reasons", "aria-label": "Why approval is needed" },
      ...reasons.map((text) => element("li", { text })),
    ),
    ...notesOf(item),
    isOpen && buttonsView(item, send),
    !isOpen && outcomeView(item),
  );
}

function changesItem(item, send) {
  const isOpen = item.state === "open";
  const parts = isOpen ? askedChanges(item) : reportedChanges(item, outcomeView(item));
  return element("div", { class: "card-item" }, ...parts, ...notesOf(item), buttonsView(item, send));
}

function notesOf({ warning, progress, choices, grantText, state }) {
  const isOpen = state === "open";
  return [
    warning && element("p", { class: "card-warning", text: `⚠ ${warning}` }),
    isOpen && progress && element("p", { class: "card-note", text: progress }),
    isOpen &&
      choices.includes("allow") &&
      grantText &&
      element("p", { class: "card-note", text: `“${labels.allow}” saves this rule: ${grantText}` }),
  ];
}

function outcomeView({ state, outcome }) {
  return element("p", { class: `outcome ${state}`, text: outcome ?? states[state] });
}

function callView(text, label) {
  return element("pre", { class: "card-call", tabindex: "0", role: "region", "aria-label": label, text });
}

/** Offers a choice for all calls only if every open call offers it. */
function allView(card, open, send) {
  const buttons = ["approve", "deny"]
    .filter((choice) => open.every((item) => item.choices.includes(choice)))
    .map((choice) =>
      element("button", {
        type: "button",
        class: looks[choice],
        text: `${labels[choice]} all ${open.length}`,
        onclick: () => send(card.id, choice),
      }),
    );
  return (
    buttons.length > 0 && element("div", { class: "card-all" }, element("div", { class: "card-buttons" }, ...buttons))
  );
}

function expiry(expiresAt) {
  return element("time", {
    class: "card-expiry",
    datetime: new Date(expiresAt).toISOString(),
    "data-expires": `${expiresAt}`,
    // With live updates, screen readers would read the countdown every second.
    "aria-live": "off",
    text: expiryText(expiresAt),
  });
}

function expiryText(expiresAt) {
  const seconds = Math.max(0, Math.round((expiresAt - Date.now()) / 1000));
  if (seconds === 0) return "expired";
  if (seconds < 120) return `expires in ${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `expires in ${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `expires in ${hours} h` : `expires in ${Math.round(hours / 24)} days`;
}

export function countDown() {
  for (const time of document.querySelectorAll("[data-expires]")) {
    const text = expiryText(Number(time.dataset.expires));
    if (time.textContent !== text) time.textContent = text;
  }
}
