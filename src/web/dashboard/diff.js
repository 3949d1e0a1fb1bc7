import { diffLines } from "./diff-lines.js";
import { element } from "./elements.js";

const elements = { added: "ins", removed: "del" };

export function diffView(text, label) {
  const lines = diffLines(text);
  const view = element("div", { class: "diff", tabindex: "0", role: "region", "aria-label": label });
  for (const [index, { kind, text: line }] of lines.entries()) {
    const end = index === lines.length - 1 ? "" : "\n";
    view.append(element(elements[kind] ?? "span", { class: `line-${kind}` }, `${line}${end}`));
  }
  return view;
}

export async function showDiff({ id, changes }) {
  const got = await load(id);
  if (got.diff === undefined) return got.problem;
  const close = element("button", { type: "button" }, "Close");
  const dialog = element(
    "dialog",
    { "aria-label": `Diff. ${changes.title}` },
    element("h3", {}, changes.title),
    diffView(got.diff, "The whole diff"),
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return undefined;
}

async function load(id) {
  try {
    const response = await fetch(`/dashboard/diffs/${encodeURIComponent(id)}`);
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    if (!isJson) return { problem: await response.text() };
    const { diff, error } = await response.json();
    return { diff, problem: error };
  } catch {
    return { problem: "Can't reach Remora. Is it still running?" };
  }
}
