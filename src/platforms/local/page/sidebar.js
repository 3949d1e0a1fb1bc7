/** The sidebar: channels, DM, and the list of people to speak as. A drawer on narrow screens. */
import { avatar, button, byId, element } from "./dom.js";

export function createSidebar() {
  let shown = "";
  wireDrawer();

  /** Rebuilds only if something would look different, to preserve the focus. */
  return (view) => {
    const { facts, open, unread } = view;
    const signature = JSON.stringify([facts.people, facts.me, facts.channels, open.place, [...unread]]);
    if (signature === shown) return;
    shown = signature;
    const focused = document.activeElement?.dataset?.focusKey;
    renderSidebar(view);
    document.querySelector("#sidebar [aria-current]")?.scrollIntoView({ block: "nearest" });
    if (focused) document.querySelector(`[data-focus-key="${CSS.escape(focused)}"]`)?.focus();
  };
}

function renderSidebar({ facts, open, unread, go, speakAs, addPerson, addChannel }) {
  const place = (name, label, sign) => {
    const isOpen = open.place === name;
    const isUnread = unread.has(name) && !isOpen;
    const entry = button(
      undefined,
      {
        class: isUnread ? "place unread" : "place",
        "aria-current": isOpen ? "true" : undefined,
        "data-focus-key": name,
        onclick: () => {
          go(name);
          setDrawer(false);
        },
      },
      sign,
      element("span", { text: label }),
      isUnread && element("span", { class: "dot" }, element("span", { class: "visually-hidden", text: "unread" })),
    );
    return element("li", {}, entry);
  };
  const hash = () => element("span", { class: "sign", "aria-hidden": "true", text: "#" });
  const channels = facts.channels.toSorted((one, other) => one.localeCompare(other));
  byId("channels").replaceChildren(...channels.map((channel) => place(`channel:${channel}`, channel, hash())));
  byId("channel-add").onclick = () => {
    setDrawer(false);
    addChannel();
  };
  byId("direct").replaceChildren(place(`dm:${facts.me.id}`, "Remora", avatar(facts.agent, true)));
  byId("people").replaceChildren(
    ...facts.people.map((person) => personView(person, facts, speakAs)),
    button("+ Add", { class: "person add", "aria-label": "Add a person", onclick: addPerson }),
  );
}

function personView(person, { me, people }, speakAs) {
  const isMe = person.id === me.id;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  return button(
    undefined,
    {
      class: "person",
      role: "radio",
      "aria-checked": `${isMe}`,
      tabindex: isMe ? "0" : "-1",
      "data-focus-key": `person ${isMe ? "chosen" : person.id}`,
      onclick: () => speakAs(person.id),
      onkeydown(event) {
        const by = step[event.key];
        if (by === undefined) return;
        event.preventDefault();
        const index = people.findIndex((other) => other.id === person.id);
        speakAs(people.at((index + by) % people.length).id);
      },
    },
    avatar(person, true),
    element("span", { text: person.name }),
  );
}

function setDrawer(isOpen) {
  byId("sidebar").classList.toggle("open", isOpen);
  byId("scrim").hidden = !isOpen;
  byId("menu").setAttribute("aria-expanded", `${isOpen}`);
}

function wireDrawer() {
  byId("menu").addEventListener("click", () => {
    setDrawer(true);
    byId("sidebar").querySelector("[aria-current]")?.focus();
  });
  byId("scrim").addEventListener("click", () => setDrawer(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !byId("sidebar").classList.contains("open")) return;
    setDrawer(false);
    byId("menu").focus();
  });
}
