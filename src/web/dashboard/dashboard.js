/** Renders a snapshot every few seconds, and says when it is out of date. Inserts all text as plain text. */
import { createApprovalsView } from "./approvals.js";
import { duration, element } from "./elements.js";

const refreshMs = 3000;
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });

function section(title, note, rows, { columns, none, isWide = false }) {
  const heading = element("h2", {}, title, element("small", {}, note));
  const body = rows.length === 0 ? element("p", { class: "none" }, none) : table(columns, rows);
  return element("section", isWide ? { class: "wide" } : {}, heading, body);
}

function table(columns, rows) {
  const head = columns.map(([name, isShort]) => element("th", isShort ? { class: "short" } : {}, name));
  const body = rows.map((cells) =>
    element(
      "tr",
      {},
      ...cells.map((cell, index) => element("td", columns[index]?.[1] ? { class: "short" } : {}, cell)),
    ),
  );
  const made = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  return element("div", { class: "scroll", tabindex: "0" }, made);
}

function state(kind, text = kind) {
  return element("span", { class: `state ${kind}` }, text);
}

const turnStates = { done: "ok", running: "ok", parked: "warning", failed: "error" };

function skillView({ description, diagnostics }) {
  const problems = diagnostics.map(({ line, severity, message }) =>
    element("li", { class: severity }, line > 0 ? `line ${line}: ${message}` : message),
  );
  const view = element("div", {}, description);
  if (problems.length > 0) view.append(element("ul", { class: "problems" }, ...problems));
  return view;
}

function views(data) {
  const { status, turns, skills, jobs } = data;
  const now = Date.now();
  return [
    section(
      "Health",
      "",
      status.map((line) => [element("code", {}, line.name), state(line.state), line.detail]),
      {
        columns: [["Part", true], ["State", true], ["Details"]],
        none: "No health information.",
        isWide: true,
      },
    ),
    section("Jobs", "", [[`${jobs.running}`, `${jobs.waiting}`]], { columns: [["Running"], ["Waiting"]], none: "" }),
    section(
      "Turns",
      `newest ${turns.length}`,
      turns.map(({ id, who, headline, state: kind, steps, startedAt, endedAt }) => [
        element("code", {}, id),
        state(turnStates[kind] ?? "off", kind),
        who,
        headline,
        `${steps}`,
        clock.format(startedAt),
        duration(startedAt, endedAt ?? now),
      ]),
      {
        columns: [
          ["Turn", true],
          ["State", true],
          ["Who", true],
          ["Message"],
          ["Steps", true],
          ["Started", true],
          ["Duration", true],
        ],
        none: "No turns yet. Mention the agent in the chat.",
        isWide: true,
      },
    ),
    section(
      "Skills",
      `${skills.length}`,
      skills.map((skill) => [element("code", {}, skill.name), `${skill.tools}`, skillView(skill)]),
      {
        columns: [["Skill", true], ["Tools", true], ["Description and problems"]],
        none: "No skills loaded.",
        isWide: true,
      },
    ),
  ];
}

let shown = "";
let next;
const approvals = createApprovalsView(document.getElementById("approvals"), () => refresh());

/** Rebuilds only after a change, to keep selection and scroll position. */
function show(data) {
  approvals.show(data.approvals);
  const text = JSON.stringify(data);
  const isTicking = data.turns.some((turn) => turn.endedAt === null);
  if (text === shown && !isTicking) return;
  shown = text;
  const main = document.getElementById("main");
  main.replaceChildren(...views(data));
  main.setAttribute("aria-busy", "false");
}

async function refresh() {
  const about = document.getElementById("about");
  try {
    const response = await fetch("/dashboard/data");
    if (!response.ok) throw new Error(await response.text());
    const data = await response.json();
    about.textContent = `version ${data.version}, running for ${duration(data.startedAt, Date.now())}`;
    show(data);
  } catch (thrown) {
    about.textContent = `Out of date: ${thrown instanceof TypeError ? "Can't reach Remora. Is it still running?" : thrown.message}`;
  }
  clearTimeout(next);
  next = setTimeout(refresh, refreshMs);
}

refresh();
