/** The search dialog: channels by name, and messages by their words. */
import { Failure, request } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, dayOf, element, timeOf } from "./dom.js";

const typingPauseMs = 200;
const maxShownChannels = 8;

/** `go(place, thread, messageId)` opens what was found. */
export function openSearch({ me, channels, go }) {
  const field = element("input", {
    ...{
      id: "search-field",
      type: "text",
      enterkeyhint: "search",
      placeholder: "Words in messages, or a channel",
      autocomplete: "off",
    },
    ...{ spellcheck: "false", maxlength: "200", "aria-describedby": "search-status" },
  });
  const status = element("p", { id: "search-status", class: "search-status", role: "status" });
  const list = element("ul", { class: "found" });
  const more = button("Search older messages", { hidden: true, onclick: () => find(next) });
  const close = button("Close", { onclick: () => dialog.close() });
  let timer;
  let latest = 0;
  let next;
  let count = 0;

  function entry(onclick, ...parts) {
    const open = () => {
      dialog.close();
      onclick();
    };
    return element("li", {}, button(undefined, { class: "found-one", onclick: open }, ...parts));
  }

  function channelEntry(name) {
    const label = element("span", { class: "found-head" }, element("b", { text: `#${name}` }));
    return entry(() => go(`channel:${name}`), label);
  }

  function messageEntry({ id, place, thread, author, at, excerpt: { before, match, after } }) {
    const where = place.startsWith("dm:") ? "direct message" : `#${place.slice("channel:".length)}`;
    return entry(
      () => go(place, thread, id),
      element(
        "span",
        { class: "found-head" },
        element("b", { text: author.name }),
        ` in ${where} · ${dayOf(at)} `,
        timeOf(at),
      ),
      element("span", { class: "found-text", dir: "auto" }, before, element("mark", { text: match }), after),
    );
  }

  async function find(before) {
    const query = field.value.trim();
    const number = ++latest;
    if (query === "") return clear("");
    const wanted = new URLSearchParams({ person: me.id, query, ...(before === undefined ? {} : { before }) });
    try {
      const result = await request("GET", `search?${wanted}`);
      if (number !== latest) return;
      if (before === undefined) {
        clear("");
        const word = query.replace(/^#/, "").toLowerCase();
        const names = channels.filter((name) => name.includes(word)).slice(0, maxShownChannels);
        list.append(...names.map(channelEntry));
        count = names.length;
      }
      list.append(...result.found.map(messageEntry));
      count += result.found.length;
      next = result.next;
      more.hidden = next === undefined;
      status.textContent = statusText(query);
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (number === latest) clear(thrown.message);
    }
  }

  function statusText(query) {
    if (count === 0)
      return next === undefined ? `Nothing found for “${query}”. Try fewer words.` : "Nothing in the newest messages.";
    return `${count}${next === undefined ? "" : " or more"} found, newest first.`;
  }

  function clear(text) {
    list.replaceChildren();
    status.textContent = text;
    more.hidden = true;
    next = undefined;
    count = 0;
  }

  const form = element(
    "form",
    { method: "dialog", role: "search" },
    element("label", { for: "search-field", text: "Search conversations" }),
    field,
    status,
    element("div", { class: "found-box" }, list, more),
    element("div", { class: "dialog-buttons" }, close),
  );
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, typingPauseMs);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    find();
  });
  const dialog = openDialog({ title: "Search conversations", className: "search-dialog", closesOutside: true }, form);
  field.focus();
}
