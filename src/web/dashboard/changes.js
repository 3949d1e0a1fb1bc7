/** Shows changes to a folder. If it is possible to keep only some files, each file has a checkbox. */
import { diffView } from "./diff.js";
import { element } from "./elements.js";

/** `chosen()` returns the indexes of the files to keep, or undefined for all of them. */
export function createChangesView({ changes, choices }, onChoice) {
  const { summary, files, moreFiles, commands, lastOutput, diff } = changes;
  const boxes = choices.includes("part") ? files.map(() => box(onChoice)) : [];
  const list = element("ul", { class: "files", "aria-label": "Changed files" });
  for (const [index, file] of files.entries()) list.append(element("li", {}, fileView(file, boxes[index])));
  if (moreFiles > 0)
    list.append(element("li", {}, moreFiles === 1 ? "and 1 more file" : `and ${moreFiles} more files`));

  const view = element("div", {});
  if (summary !== "") view.append(element("p", { class: "summary" }, summary));
  view.append(list);
  if (commands.length > 0) {
    const lines = commands.map(({ text, outcome }) => element("li", {}, element("code", {}, text), ` — ${outcome}`));
    view.append(element("ul", { class: "commands", "aria-label": "Commands that ran" }, ...lines));
  }
  if (lastOutput !== undefined) view.append(element("pre", { tabindex: "0" }, lastOutput));
  if (diff !== undefined) view.append(diffView(diff, "The diff"));
  return {
    view,
    boxes,
    chosen() {
      const kept = boxes.flatMap((each, index) => (each.checked ? [index] : []));
      return kept.length === boxes.length ? undefined : kept;
    },
  };
}

function box(onChoice) {
  const made = element("input", { type: "checkbox", checked: "" });
  made.addEventListener("change", onChoice);
  return made;
}

function fileView({ path, action, detail }, checkbox) {
  const what = element(
    "span",
    {},
    element("bdi", { class: "path" }, path),
    " ",
    element("bdi", { class: "detail" }, detail),
  );
  const parts = [element("span", { class: `action ${action}` }, action), " ", what];
  return checkbox === undefined ? element("span", {}, ...parts) : element("label", {}, checkbox, ...parts);
}
