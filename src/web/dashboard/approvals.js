/**
 * Open approvals, which the user answers as the operator. A row's elements are kept while its approval is open and
 * unchanged so that a half-written reason, the focus and the scroll position survive a refresh.
 */
import { createChangesView } from "./changes.js";
import { showDiff } from "./diff.js";
import { duration, element } from "./elements.js";

export function createApprovalsView(root, onAnswered) {
  const [title, count, said, list, none] = ["title", "count", "said", "list", "none"].map((part) =>
    root.querySelector(`#approvals-${part}`),
  );
  /** Maps approval ids to the row's element and data. */
  const rows = new Map();

  function say(text, isAccepted) {
    said.textContent = text;
    said.classList.toggle("refused", !isAccepted);
  }

  async function answer(approval, choice, more, controls) {
    for (const control of controls) control.disabled = true;
    const { accepted, text } = await send({ cardOrApprovalId: approval.id, choice, ...more });
    say(`${approvalTitle(approval)}: ${text}`, accepted);
    for (const control of controls) control.disabled = false;
    title.focus();
    onAnswered();
  }

  function buildRow(approval) {
    const labels = approval.changes?.labels ?? { approve: "Approve", deny: "Deny" };
    const expires = element("span");
    const reason = element("input", { type: "text", maxlength: "2000", autocomplete: "off" });
    const about = `${approvalTitle(approval)}, asked by ${approval.requester}`;
    const approve = element("button", { type: "button", class: "approve" });
    const deny = element(
      "button",
      { type: "submit", class: "deny", "aria-label": `${labels.deny} ${about}` },
      labels.deny,
    );
    const changes = approval.changes === null ? undefined : createChangesView(approval, nameApprove);
    const controls = [approve, deny, reason, ...(changes?.boxes ?? [])];
    const form = element(
      "form",
      {},
      element("label", {}, `Reason, with ${labels.deny} (optional)`, reason),
      approve,
      deny,
      ...(approval.choices.includes("diff") ? [diffButton(approval)] : []),
    );

    function nameApprove() {
      const kept = changes?.chosen();
      approve.textContent = kept === undefined ? labels.approve : `Keep ${kept.length} of ${changes.boxes.length}`;
      approve.setAttribute("aria-label", `${approve.textContent} ${about}`);
    }

    nameApprove();
    approve.addEventListener("click", () => {
      const parts = changes?.chosen();
      if (parts === undefined) answer(approval, "approve", {}, controls);
      else if (parts.length === 0) say(`Choose at least one file. To keep none, use “${labels.deny}”.`, false);
      else answer(approval, "part", { parts }, controls);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = reason.value.trim();
      answer(approval, "deny", text === "" ? {} : { reason: text }, controls);
    });
    const row = element("li", { class: "approval" }, headlineView(approval), rowHead(approval, expires));
    if (approval.reason !== null) row.append(element("p", { class: "reason" }, approval.reason));
    row.append(changes?.view ?? callView(approval));
    for (const fact of approval.facts) row.append(element("p", { class: "fact" }, fact));
    if (approval.warning !== null) row.append(element("p", { class: "warning" }, approval.warning));
    if (approval.progress !== null) row.append(element("p", { class: "progress" }, approval.progress));
    row.append(form);
    if (approval.why.length > 0) row.append(whyView(approval));
    return { row, expires };
  }

  function diffButton(approval) {
    const button = element("button", { type: "button" }, "Show diff");
    button.addEventListener("click", async () => {
      const problem = await showDiff(approval);
      if (problem !== undefined) say(problem, false);
    });
    return button;
  }

  return {
    show(approvals) {
      const now = Date.now();
      const open = new Set(approvals.map(({ id }) => id));
      for (const [id, { row }] of rows) {
        if (open.has(id)) continue;
        row.remove();
        rows.delete(id);
      }
      for (const approval of approvals) {
        const text = JSON.stringify(approval);
        const known = rows.get(approval.id);
        if (known?.text !== text) {
          const made = { ...buildRow(approval), text };
          if (known === undefined) list.append(made.row);
          else known.row.replaceWith(made.row);
          rows.set(approval.id, made);
        }
        const { expires } = rows.get(approval.id);
        expires.textContent =
          approval.expiresAt === null ? "never expires" : `expires in ${duration(now, approval.expiresAt)}`;
      }
      count.textContent = `${approvals.length}`;
      none.hidden = approvals.length > 0;
    },
  };
}

function approvalTitle({ headline }) {
  return headline.replaceAll("`", "");
}

/** Pairs of backticks mark code. */
function headlineView({ headline }) {
  const parts = headline.split("`");
  const pieces =
    parts.length % 2 === 0
      ? [headline]
      : parts.map((part, index) => (index % 2 === 1 ? element("code", {}, part) : part));
  return element("h3", { class: "headline" }, ...pieces);
}

function whyView({ why }) {
  const lines = why.map((line) => element("li", {}, line));
  return element("details", { class: "reasons" }, element("summary", {}, "Why this asks"), element("ul", {}, ...lines));
}

function rowHead({ requester, conversationId, approvers, times }, expires) {
  const identical = times > 1 ? ` · answers for ${times} identical calls` : "";
  return element(
    "p",
    { class: "about" },
    `Asked by ${requester} in `,
    element("code", {}, conversationId),
    ` · can answer in the chat: ${approvers}${identical} · `,
    expires,
  );
}

function callView({ call }) {
  return element("pre", { tabindex: "0" }, call);
}

async function send(decision) {
  try {
    const response = await fetch("/dashboard/answers", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(decision),
    });
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    if (!isJson) return { accepted: false, text: await response.text() };
    const { accepted = false, text, error } = await response.json();
    return { accepted, text: text ?? error };
  } catch {
    return { accepted: false, text: "Can't reach Remora, so nothing was answered. Is it still running?" };
  }
}
