/** The buttons that a card item offers, and the dialogs behind some of them. */
import { chooseFiles } from "./choose-files.js";
import { ask, element } from "./dom.js";
import { chooseApprover } from "./hand-over.js";

export const labels = {
  approve: "Approve",
  deny: "Deny",
  undo: "Undo",
  again: "Run again",
  part: "Choose files…",
  diff: "Show diff",
  edit: "Edit…",
  allow: "Allow 30 min here",
  handover: "Hand over…",
  reask: "Ask again",
};
export const looks = { approve: "button primary", deny: "button danger" };
const order = Object.keys(labels);

export function buttonsView(item, send) {
  const choices = order.filter((choice) => item.choices.includes(choice));
  return (
    choices.length > 0 &&
    element(
      "div",
      { class: "card-buttons" },
      ...choices.map((choice) => choiceButton(choice, item, send)),
      choices.includes("deny") && reasonButton(item, send),
    )
  );
}

function choiceButton(choice, item, send) {
  return element("button", {
    type: "button",
    class: looks[choice] ?? "button",
    "data-choice": choice,
    text: labelOf(choice, item),
    onclick: () => choose(choice, item, send),
  });
}

function labelOf(choice, { changes, labels: own }) {
  return (own ?? changes?.labels)?.[choice] ?? labels[choice];
}

async function choose(choice, item, send) {
  if (choice === "edit") return await edit(item, send);
  if (choice === "handover") return await handOver(item, send);
  if (choice !== "part") return await send(item.approvalId, choice);
  const parts = await chooseFiles(item.changes);
  if (parts !== undefined) await send(item.approvalId, "part", { parts });
}

/** Deny takes one click. This extra button lets a person give the agent a reason. */
function reasonButton(item, send) {
  const deny = labelOf("deny", item);
  const click = async () => {
    const reason = await ask({
      title: item.changes === undefined ? `Deny this ${item.tool} call` : `${deny} the changes`,
      about: "The agent sees your reason and can try something else.",
      label: "Reason",
      value: "",
      submit: deny,
    });
    if (reason !== undefined)
      await send(item.approvalId, "deny", reason.trim() === "" ? {} : { reason: reason.trim() });
  };
  return element("button", { type: "button", class: "button", text: `${deny}, because…`, onclick: click });
}

async function handOver(item, send) {
  const to = await chooseApprover(send.me);
  if (to !== undefined) await send(item.approvalId, "handover", { to });
}

async function edit(item, send) {
  const editedJson = await ask({
    title: `Edit this ${item.tool} call`,
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
