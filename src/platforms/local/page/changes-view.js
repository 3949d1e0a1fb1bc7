/** What a turn changed in its folder: everything on an open card, a few lines on a report. */
import { diffView } from "./diff-view.js";
import { element } from "./dom.js";

const filesBeforeFold = 3;

export function askedChanges({ changes, facts }) {
  const { summary, files, moreFiles, moreWarned = 0, commands, moreCommands = 0, lastOutput, diff } = changes;
  return [
    summary !== "" && element("p", { class: "changes-summary", text: summary }),
    factsView(facts),
    files.length > 0 && fileList(files),
    moreFiles > 0 && element("p", { class: "card-note", text: moreText(moreFiles, moreWarned) }),
    moreCommands > 0 && element("p", { class: "card-note", text: earlierText(moreCommands) }),
    commands.length > 0 && commandList(commands),
    lastOutput !== undefined &&
      element("pre", {
        class: "card-call last-output",
        ...{ tabindex: "0", role: "region", "aria-label": "End of the last output" },
        text: lastOutput,
      }),
    diff !== undefined && diffView(diff, { label: "The diff" }),
  ];
}

/** What somebody had only allowed in advance is not folded. */
export function reportedChanges({ changes, facts, isGranted }) {
  const { summary, moreFiles, moreWarned = 0 } = changes;
  const isWarned = ({ warning }) => warning !== undefined;
  const files = [...changes.files.filter(isWarned), ...changes.files.filter((file) => !isWarned(file))];
  const beforeFold = isGranted ? files.length : filesBeforeFold;
  const folded = files.slice(beforeFold);
  return [
    summary !== "" && element("p", { class: "changes-summary", text: summary }),
    factsView(facts),
    files.length > 0 && fileList(files.slice(0, beforeFold)),
    folded.length > 0 &&
      element(
        "details",
        { class: "changes-more" },
        element("summary", { text: moreText(folded.length + moreFiles, folded.filter(isWarned).length + moreWarned) }),
        fileList(folded),
        moreFiles > 0 &&
          element("p", { class: "card-note", text: `${moreText(moreFiles, moreWarned)}; not listed here` }),
      ),
    folded.length === 0 && moreFiles > 0 && element("p", { class: "card-note", text: moreText(moreFiles, moreWarned) }),
  ];
}

export function factsView(facts = []) {
  return (
    facts.length > 0 &&
    element(
      "ul",
      { class: "card-facts", "aria-label": "What to know before you answer" },
      ...facts.map((text) => element("li", { text })),
    )
  );
}

/** Names and details may run right to left. `bdi` protects the order of the text around them. */
export function changeView({ path, action, detail, warning }) {
  return [
    element("span", { class: "change-action", text: action }),
    " ",
    element(
      "span",
      { class: "change-what" },
      element("bdi", { class: "change-path", text: path }),
      " ",
      element("bdi", { class: "change-detail", text: detail }),
      warning !== undefined && element("strong", { text: ` ${warning}` }),
    ),
  ];
}

function fileList(files) {
  return element(
    "ul",
    { class: "change-files", "aria-label": "Changed files" },
    ...files.map((file) => element("li", { class: `change ${file.action}` }, ...changeView(file))),
  );
}

function commandList(commands) {
  return element(
    "ul",
    { class: "change-commands", "aria-label": "Commands that ran" },
    ...commands.map(({ text, outcome }) =>
      element("li", {}, element("code", { text }), " — ", element("span", { text: outcome })),
    ),
  );
}

function earlierText(count) {
  return `${count === 1 ? "1 earlier command is" : `${count.toLocaleString("en")} earlier commands are`} in Show diff`;
}

function moreText(count, warned) {
  const files = count === 1 ? "and 1 more file" : `and ${count.toLocaleString("en")} more files`;
  if (warned === 0) return files;
  if (count === 1) return `${files}, which can run by itself outside the sandbox`;
  return `${files}, ${warned.toLocaleString("en")} of which can run by themselves outside the sandbox`;
}
