/** The buttons that a card item offers, the menu More…, and the dialogs behind some of them. */
import { chooseFiles } from "./choose-files.js";
import { ask } from "./dialog.js";
import { button, element } from "./dom.js";
import { chooseApprover } from "./hand-over.js";

export const labels = {
  approve: "Approve",
  deny: "Deny",
  undo: "Undo",
  again: "Do it again",
  end: "End this permission",
  part: "Choose files…",
  diff: "Show diff",
  reask: "Ask again",
};
export const looks = { approve: "button primary", deny: "button danger" };
const order = Object.keys(labels);
const menuOrder = ["edit", "allow", "reason", "handover", "why"];

export function buttonsView(item, send) {
  const choices = order.filter((choice) => item.choices.includes(choice));
  const rare = menuOrder.filter((choice) => item.choices.includes(choice === "reason" ? "deny" : choice));
  if (choices.length + rare.length === 0) return false;
  const why = element("ul", { class: "card-reasons", "aria-label": "Why this asks", hidden: true, tabindex: "-1" });
  why.append(...(item.why ?? []).map((text) => element("li", { text })));
  const view = element(
    "div",
    { class: "card-buttons" },
    ...choices.map((choice) => choiceButton(choice, item, send)),
    rare.length > 0 && menu(rare, item, { send, why }),
  );
  return element("div", {}, view, why);
}

/** `details` opens by keyboard too. Escape, a choice, or leaving it closes it. */
function menu(choices, item, { send, why }) {
  const summary = element("summary", { class: "button", text: "More…" });
  const view = element("details", { class: "card-more" }, summary);
  const close = () => {
    view.open = false;
  };
  const options = choices.map((choice) =>
    button(menuLabel(choice, item), {
      class: "menu-item",
      "data-choice": choice === "reason" ? undefined : choice,
      onclick: async () => {
        close();
        summary.focus();
        if (choice === "why") showWhy(why);
        else await choose(choice, item, send);
      },
    }),
  );
  view.append(element("div", { class: "card-menu" }, ...options));
  view.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && view.open) {
      // Escape also closes the thread.
      event.stopPropagation();
      close();
      summary.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !view.open) return;
    event.preventDefault();
    const at = options.indexOf(document.activeElement);
    options.at((at + step) % options.length)?.focus();
  });
  view.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget !== null && !view.contains(relatedTarget)) close();
  });
  return view;
}

function menuLabel(choice, item) {
  if (choice === "edit") return "Edit…";
  if (choice === "reason") return `${labelOf("deny", item)} with reason…`;
  if (choice === "handover") return "Hand over…";
  if (choice === "why") return "Why this asks";
  const [, minutes] = /^For (\d+) minutes?\b/.exec(item.grantText ?? "") ?? [];
  return minutes === undefined ? "Allow here for a while…" : `Allow here for ${minutes} min…`;
}

function showWhy(why) {
  why.hidden = false;
  why.focus();
}

function choiceButton(choice, item, send) {
  const onclick = () => choose(choice, item, send);
  return button(labelOf(choice, item), { class: looks[choice] ?? "button", "data-choice": choice, onclick });
}

function labelOf(choice, { changes, labels: own }) {
  return (own ?? changes?.labels)?.[choice] ?? labels[choice];
}

async function choose(choice, item, send) {
  if (choice === "edit") return await edit(item, send);
  if (choice === "handover") return await handOver(item, send);
  if (choice === "allow") return await allow(item, send);
  if (choice === "reason") return await denyWithReason(item, send);
  if (choice !== "part") return await send(item.approvalId, choice);
  const parts = await chooseFiles(item.changes);
  if (parts !== undefined) await send(item.approvalId, "part", { parts });
}

async function allow(item, send) {
  const answer = await ask({
    title: "Allow without asking",
    about: `${item.grantText} This also approves what is on the card.`,
    submit: "Allow",
  });
  if (answer !== undefined) await send(item.approvalId, "allow");
}

async function denyWithReason(item, send) {
  const deny = labelOf("deny", item);
  const reason = await ask({
    title: `${deny} with reason`,
    about: "Remora reads your reason and can try something else.",
    label: "Reason",
    value: "",
    submit: deny,
  });
  if (reason !== undefined) await send(item.approvalId, "deny", reason.trim() === "" ? {} : { reason: reason.trim() });
}

async function handOver(item, send) {
  const to = await chooseApprover(send.me);
  if (to !== undefined) await send(item.approvalId, "handover", { to });
}

async function edit(item, send) {
  const editedJson = await ask({
    title: "Edit the call",
    about: "The safety rules check your edited call. If they allow it, it runs instead of this one.",
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
    return `Not valid JSON: ${thrown.message}`;
  }
}
