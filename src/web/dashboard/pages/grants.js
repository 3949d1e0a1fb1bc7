/** Advance approvals in force. Ending one means that people are asked again. */
import { confirmed } from "../dialog.js";
import { counted, elapsed } from "../format.js";
import { html, nothing } from "../lit.js";
import { section, table, time, turnLink, waiting } from "../parts.js";
import { act } from "../session.js";

const columns = [["Allows without asking"], ["Given by", true], ["Given", true], ["Ends in", true], ["End", true]];
const none = "Nothing is allowed in advance. People give grants on cards, with “Allow here for 30 min…”.";

export function openGrants({ watch, refresh, say }) {
  const found = watch(() => "/dashboard/data/grants");

  async function end({ id, allows }) {
    if (!(await confirmed(`End the grant for ${allows}?`, "End it", "People are asked again from the next call on.")))
      return;
    const { accepted, text } = await act("/dashboard/grants/end", { id });
    say(text, accepted);
    refresh();
  }

  return () => {
    if (found.data === undefined) return waiting(found);
    const { grants, more } = found.data;
    const rows = grants.map((grant) => ({
      key: grant.id,
      cells: [
        html`${grant.allows} <span class="quiet">skill ${grant.skill}, in ${grant.conversationId} · ${turnLink(grant.turnId, "turn")}</span>`,
        grant.by,
        time(grant.givenAt),
        elapsed(Date.now(), grant.expiresAt),
        html`<button type="button" class="danger" aria-label=${`End the grant for ${grant.allows}`} @click=${() => end(grant)}>End</button>`,
      ],
    }));
    return html`
      ${section("Grants", table("Grants", columns, rows, none), `${grants.length + more} in force`)}
      ${more === 0 ? nothing : html`<p class="quiet">and ${counted(more, "older grant")}</p>`}`;
  };
}
