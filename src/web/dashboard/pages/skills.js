/** The loaded skills, their problems, and a switch for each. Skills are installed with `remora skills add`. */
import { confirmed } from "../dialog.js";
import { counted } from "../format.js";
import { html, nothing } from "../lit.js";
import { badge, section, table, waiting } from "../parts.js";
import { act } from "../session.js";

const states = { on: ["ok", "on"], off: ["off", "off"], denied: ["off", "denied by the settings"] };
const columns = [["Skill", true], ["State", true], ["What it does"], ["Switch", true]];

export function openSkills({ watch, refresh, say }) {
  const found = watch(() => "/dashboard/data/skills");

  async function send(path, body) {
    const { accepted, text } = await act(path, body);
    say(text, accepted);
    refresh();
  }

  async function turn({ name }, isOn) {
    const more = "Nobody can use its tools, in no conversation, until it is on again. Its rules still apply.";
    if (!isOn && !(await confirmed(`Turn the skill ${name} off?`, "Turn it off", more))) return;
    await send("/dashboard/skills/turn", { name, isOn });
  }

  return () => {
    if (found.data === undefined) return waiting(found);
    const { skills, broken } = found.data;
    const rows = skills.map((skill) => ({
      key: skill.path,
      cells: [
        html`<strong>${skill.name}</strong> <span class="quiet">${skill.version ?? ""}</span>`,
        badge(...states[skill.state]),
        aboutSkill(skill),
        skill.state === "denied"
          ? nothing
          : html`<button type="button" role="switch" aria-checked=${String(skill.state === "on")} aria-label=${`Skill ${skill.name}`}
              @click=${() => turn(skill, skill.state !== "on")}>${skill.state === "on" ? "Turn off" : "Turn on"}</button>`,
      ],
    }));
    const unusable = broken.map(({ path, diagnostics }) => ({
      key: path,
      cells: [html`<code>${path}</code>`, problems(diagnostics)],
    }));
    return html`
      ${section("Skills", table("Skills", columns, rows, "No skills are loaded. Add one with: npm run -s remora -- skills add"), counted(skills.length, "skill"))}
      ${broken.length === 0 ? nothing : section("Files that can't be used", table("Files that can't be used", [["File"], ["Problems"]], unusable, ""))}
      <p class="buttons"><button type="button" @click=${() => send("/dashboard/skills/reload", {})}>Reload skills</button></p>`;
  };
}

function aboutSkill({ description, tools, isIsolated, path, diagnostics }) {
  const names = tools.length === 0 ? "" : `Tools: ${tools.join(", ")}. `;
  return html`${description}
    <span class="quiet">${names}${isIsolated ? "Runs in its own processes. " : ""}<code>${path}</code></span>
    ${diagnostics.length === 0 ? nothing : problems(diagnostics)}`;
}

function problems(diagnostics) {
  return html`<ul class="problems">${diagnostics.map(
    ({ line, severity, message, printed }) =>
      html`<li class=${severity}>${line > 0 ? `line ${line}: ${message}` : message}${
        printed === undefined ? nothing : html`. It said: <code>${printed}</code>`
      }</li>`,
  )}</ul>`;
}
