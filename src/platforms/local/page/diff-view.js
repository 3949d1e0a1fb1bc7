/** A diff with coloured lines, as a block on a card or in full in a dialog. */
import { diffLines } from "/local/vendor/diff-lines.js";
import { openDialog } from "./dialog.js";
import { button, element } from "./dom.js";

/** Lines per block. The browser lays out only the blocks that are visible. */
const linesInBlock = 200;
/** More at once would freeze the tab. */
const linesPerPortion = 20_000;
const elements = { added: "ins", removed: "del" };

/** The block scrolls separately, so it must be reachable by keyboard. */
export function diffView(text, { label, isWhole = false }) {
  const lines = diffLines(text);
  const view = element("div", {
    class: isWhole ? "diff whole" : "diff",
    ...{ tabindex: "0", role: "region", "aria-label": label, autofocus: isWhole },
  });
  const showFrom = (start) => {
    const end = Math.min(start + linesPerPortion, lines.length);
    view.append(...filesOf(lines.slice(start, end), end === lines.length).map(fileView));
    if (end === lines.length) return;
    const left = (lines.length - end).toLocaleString("en");
    const more = button(`Show more (${left} lines left)`, {
      onclick: () => {
        more.remove();
        showFrom(end);
      },
    });
    view.append(more);
  };
  showFrom(0);
  return view;
}

function filesOf(lines, isEnd) {
  const files = [];
  const last = isEnd ? lines.length - 1 : -1;
  for (const [index, { kind, text }] of lines.entries()) {
    if (index === last && text === "") continue;
    if (kind === "file" || files.length === 0) files.push([]);
    files.at(-1).push({ kind, text: index === last ? text : `${text}\n` });
  }
  return files;
}

function fileView(lines) {
  const view = element("div", { class: "diff-file" });
  const rest = [...lines];
  if (rest[0].kind === "file") view.append(lineView(rest.shift()));
  for (let start = 0; start < rest.length; start += linesInBlock) {
    const block = rest.slice(start, start + linesInBlock);
    const shown = element("div", { class: "diff-block" }, ...block.map(lineView));
    shown.style.setProperty("--lines", `${block.length}`);
    view.append(shown);
  }
  return view;
}

function lineView({ kind, text }) {
  return element(elements[kind] ?? "span", { class: `diff-line line-${kind}`, text });
}

export function showDiff({ name, text }, title) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const close = () => dialog.close();
  const dialog = openDialog(
    { title: `Diff. ${title}`, className: "diff-dialog", closesOutside: true },
    element("div", { class: "diff-head" }, element("h2", { text: "Diff" }), element("p", { text: title })),
    diffView(text, { label: "The whole diff", isWhole: true }),
    element(
      "div",
      { class: "dialog-buttons" },
      element("a", { class: "button", href, download: name, text: "Download" }),
      button("Close", { class: "button primary", onclick: close }),
    ),
  );
  dialog.addEventListener("close", () => URL.revokeObjectURL(href));
}
