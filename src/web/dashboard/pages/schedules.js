/** Reminders and scheduled tasks of all people, soonest first. */
import { confirmed } from "../dialog.js";
import { elapsed } from "../format.js";
import { html, nothing } from "../lit.js";
import { isAtLeast } from "../me.js";
import { pageLinks, pageOf, section, table, time, waiting } from "../parts.js";
import { act } from "../session.js";

const columns = [["Next run", true], ["What"], ["Whose", true], ["Repeats", true], ["Delete", true]];
const none = "No schedules. People make them in the chat: “remind me at nine”.";

export function openSchedules(context) {
  const found = context.watch(() => `/dashboard/data/schedules?page=${pageOf(context.query)}`);

  async function end({ id, owner, text }) {
    if (!(await confirmed(`Delete this schedule of ${owner}?`, "Delete it", text))) return;
    const receipt = await act("/dashboard/schedules/end", { id });
    context.say(receipt.text, receipt.accepted);
    context.refresh();
  }

  return () => {
    if (found.data === undefined) return waiting(found);
    const { schedules, count, hidden, pageSize } = found.data;
    const rows = schedules.map((schedule) => ({
      key: schedule.id,
      cells: [
        html`${time(schedule.nextAt)} <span class="quiet">${nextText(schedule.nextAt)}</span>`,
        html`${schedule.purpose === "remind" ? "Reminder" : "Task"}: ${schedule.text} <span class="quiet">${schedule.conversationId}</span>`,
        schedule.owner,
        schedule.repeats ?? "once",
        !isAtLeast("operator")
          ? nothing
          : html`<button type="button" class="danger" aria-label=${`Delete the schedule of ${schedule.owner}: ${schedule.text}`} @click=${() => end(schedule)}>Delete</button>`,
      ],
    }));
    return html`
      ${section("Schedules", table("Schedules", columns, rows, none), `${count} active`)}
      ${hidden === 0 ? nothing : html`<p class="none">${hidden} more in conversations that you can’t read.</p>`}
      ${pageLinks("#/schedules", context.query, count, pageSize)}`;
  };
}

function nextText(nextAt) {
  return nextAt <= Date.now() ? "now" : `in ${elapsed(Date.now(), nextAt)}`;
}
