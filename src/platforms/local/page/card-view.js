/**
 * Approval cards: the whole call, why it asks, who may answer, until when, and exactly the buttons that the card offers.
 * A click is answered on the card; the outcome comes from the server, to everybody.
 */
import { click } from "./click.js";
import { ask, element } from "./dom.js";

const labels = { approve: "Approve", deny: "Deny", edit: "Edit…", allow: "Allow 30 min here" };
const looks = { approve: "button primary", deny: "button danger", edit: "button", allow: "button" };
const order = ["approve", "deny", "edit", "allow"];
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
  const receipt = element("p", { class: "card-receipt", role: "status" });
  const send = (cardOrApprovalId, choice, more = {}) =>
    click(view, receipt, "answers", { person: me.id, messageId: message.id, cardOrApprovalId, choice, ...more });

  const title = open.length > 0 ? "Approval needed" : "Approval";
  const view = element(
    "section",
    { class: open.length > 0 ? "card waiting" : "card", tabindex: "-1", "aria-label": title },
    element(
      "div",
      { class: "card-head" },
      element("h3", { text: title }),
      open.length > 0 && card.expiresAt !== null && expiry(card.expiresAt),
    ),
    ...card.items.map((item) => itemView(item, send)),
    open.length > 1 && allView(card, open, send),
    element("div", { class: "card-foot" }, element("span", { text: whoText(card, open.length > 0) }), receipt),
  );
  return view;
}

function whoText(card, isOpen) {
  const asked = `Asked for ${card.requesterName}`;
  return isOpen ? `${asked} · ${card.approversText}` : asked;
}

function itemView(item, send) {
  const { tool, callText, reasons, warning, state, outcome, times, editedFrom, progress, grantText } = item;
  const isOpen = state === "open";
  const choices = isOpen ? order.filter((choice) => item.choices.includes(choice)) : [];
  return element(
    "div",
    { class: "card-item" },
    !callText.startsWith(`${tool}\n`) && element("p", { class: "card-tool", text: tool }),
    times > 1 && element("p", { class: "card-times", text: `${times} identical calls, answered together` }),
    callView(callText, `The whole call of ${tool}`),
    editedFrom && element("p", { class: "card-note", text: "Edited. The model had asked for:" }),
    editedFrom && callView(editedFrom, "The call before it was edited"),
    element(
      "ul",
      { class: "card-reasons", "aria-label": "Why it asks" },
      ...reasons.map((text) => element("li", { text })),
    ),
    warning && element("p", { class: "card-warning", text: `⚠ ${warning}` }),
    isOpen && progress && element("p", { class: "card-note", text: progress }),
    choices.includes("allow") &&
      grantText &&
      element("p", { class: "card-note", text: `“${labels.allow}” saves this rule: ${grantText}` }),
    choices.length > 0 &&
      element(
        "div",
        { class: "card-buttons" },
        ...choices.map((choice) => choiceButton(choice, item, send)),
        choices.includes("deny") && reasonButton(item, send),
      ),
    !isOpen && element("p", { class: `outcome ${state}`, text: outcome ?? states[state] }),
  );
}

function callView(text, label) {
  return element("pre", { class: "card-call", tabindex: "0", role: "region", "aria-label": label, text });
}

function choiceButton(choice, item, send) {
  const click = choice === "edit" ? () => edit(item, send) : () => send(item.approvalId, choice);
  return element("button", {
    type: "button",
    class: looks[choice],
    "data-choice": choice,
    text: labels[choice],
    onclick: click,
  });
}

/** Deny is one click; whoever wants the agent to know why takes this one. */
function reasonButton(item, send) {
  const click = async () => {
    const reason = await ask({
      title: `Deny the call of ${item.tool}`,
      about: "The agent reads why, and can do better.",
      label: "Reason",
      value: "",
      submit: "Deny",
    });
    if (reason !== undefined)
      await send(item.approvalId, "deny", reason.trim() === "" ? {} : { reason: reason.trim() });
  };
  return element("button", { type: "button", class: "button", text: "Deny, because…", onclick: click });
}

/** The buttons for all open calls of the card are offered when each of them has that button. */
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

async function edit(item, send) {
  const editedJson = await ask({
    title: `Edit the call of ${item.tool}`,
    about: "The safety rules check the edited call again; what they let through runs instead of this one.",
    label: "Arguments (JSON)",
    value: item.editJson ?? "",
    isLong: true,
    submit: "Approve edited",
    check: jsonProblem,
  });
  if (editedJson !== undefined) await send(item.approvalId, "edit", { editedJson });
}

function jsonProblem(text) {
  try {
    const value = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? "" : "The arguments must be a JSON object: { … }";
  } catch (thrown) {
    return `That is not JSON yet: ${thrown.message}`;
  }
}

function expiry(expiresAt) {
  return element("time", {
    class: "card-expiry",
    datetime: new Date(expiresAt).toISOString(),
    "data-expires": `${expiresAt}`,
    // Counting down is for the eyes; it would be read out every second.
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

/** Called once a second. */
export function countDown() {
  for (const time of document.querySelectorAll("[data-expires]")) {
    const text = expiryText(Number(time.dataset.expires));
    if (time.textContent !== text) time.textContent = text;
  }
}
