/** Approval cards. A person answers on the card; the server sends the outcome to everybody. */
import { buttonsView, labels, looks } from "./card-buttons.js";
import { headlineOf, lineParts, settledLine } from "./card-line.js";
import { askedChanges, factsView, reportedChanges } from "./changes-view.js";
import { click } from "./click.js";
import { showDiff } from "./diff-view.js";
import { button, element } from "./dom.js";

const settledWords = {
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
  const title = open.length > 1 ? `${open.length} actions need approval` : "Approval needed";
  const view = element(
    "section",
    {
      class: isOpen ? "card waiting" : "card report",
      tabindex: "-1",
      "aria-label": isOpen ? title : settledTitle(card),
    },
    isOpen &&
      element(
        "div",
        { class: "card-head" },
        element("span", { class: "card-kind", text: title }),
        card.expiresAt !== null && expiry(card.expiresAt),
      ),
    isOpen && toldView(card),
    ...card.items.map((item, index) => itemView(item, { card, send, number: card.items.length > 1 ? index + 1 : 0 })),
    open.length > 1 && allView(card, open, send),
    element("div", { class: "card-foot" }, receipt),
  );
  return view;
}

/** What a screen reader calls the card. The calls of one card can end differently. */
function settledTitle({ items }) {
  if (items.every((item) => item.changes !== undefined)) return "Changes";
  const [word, ...others] = new Set(items.map(({ state }) => settledWords[state]));
  return others.length === 0 ? `${word} ${items.length === 1 ? "request" : "requests"}` : "Answered requests";
}

/** Who asks and can answer, who was asked, and on a copy where. */
function toldView({ notify, copy }) {
  const link = copy?.link && element("a", { href: copy.link, text: "See the conversation" });
  const lines = [
    copy && element("p", { class: "card-note" }, `${copy.text} `, link),
    notify && element("p", { class: "card-note", text: notify.text }),
  ].filter(Boolean);
  return lines.length > 0 && element("div", { class: "card-told" }, ...lines);
}

function whoText({ requesterName, approversText }) {
  return `Asked by ${requesterName} · ${approversText}`;
}

function itemView(item, row) {
  if (item.state !== "open") return settledItem(item, row.send);
  return item.changes === undefined ? callItem(item, row) : changesItem(item, row);
}

/** Nobody has seen the files of changes that were kept without asking. As `areUnseenChanges` in `src/ports/card.ts`. */
function settledItem(item, send) {
  const isReport =
    item.changes !== undefined && (item.isGranted || (item.state === "consumed" && item.settledAt === undefined));
  return element(
    "div",
    { class: "card-item" },
    ...settledLine(item),
    ...(isReport ? reportedChanges(item) : []),
    buttonsView(item, send),
  );
}

function headline(item, number) {
  return element("h3", { class: "card-headline" }, number > 0 && `${number}. `, ...lineParts(headlineOf(item)));
}

/** The same lead as `riskLead` in `src/ports/card.ts`. */
function reasonView(reason) {
  const [, lead, rest] = /^(Risk:)?(.*)$/s.exec(reason);
  return element("p", { class: "card-reason" }, lead && element("strong", { text: lead }), rest);
}

function callItem(item, { card, send, number }) {
  const { tool, callText, isHeadlineWhole, reason, times, facts } = item;
  return element(
    "div",
    { class: "card-item" },
    headline(item, number),
    warningView(item),
    reason && reasonView(reason),
    times > 1 && element("p", { class: "card-times", text: `${times} identical calls, one answer` }),
    callText !== "" && !isHeadlineWhole && callView(callText, `Full ${tool} call`),
    factsView(facts),
    ...notesOf(item),
    number === 0 && whoView(card),
    buttonsView(item, send),
  );
}

function changesItem(item, { card, send, number }) {
  return element(
    "div",
    { class: "card-item" },
    headline(item, number),
    warningView(item),
    ...askedChanges(item),
    ...notesOf(item),
    number === 0 && whoView(card),
    buttonsView(item, send),
  );
}

function warningView({ warning }) {
  return warning && element("p", { class: "card-warning", text: `⚠ ${warning}` });
}

function notesOf({ undo, progress }) {
  return [undo, progress].map((text) => text && element("p", { class: "card-undo", text }));
}

/** Above the buttons, because it must be read before a click. */
function whoView(card) {
  return element("p", { class: "card-who", text: whoText(card) });
}

function callView(text, label) {
  return element("pre", { class: "card-call", tabindex: "0", role: "region", "aria-label": label, text });
}

/** Offers a choice for all calls only if every open call offers it. */
function allView(card, open, send) {
  const buttons = ["approve", "deny"]
    .filter((choice) => open.every((item) => item.choices.includes(choice)))
    .map((choice) => {
      const onclick = () => send(card.id, choice);
      return button(`${labels[choice]} all ${open.length}`, { class: looks[choice], onclick });
    });
  return (
    buttons.length > 0 &&
    element("div", { class: "card-all" }, whoView(card), element("div", { class: "card-buttons" }, ...buttons))
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
