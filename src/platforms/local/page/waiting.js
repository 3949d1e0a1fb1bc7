/**
 * Cards that wait for this person: counted in the title, named in a bar, and announced by the browser if the person
 * allows it. The server decides which cards a person may answer.
 */
import { Failure, request } from "./api.js";
import { lineParts } from "./card-line.js";
import { button, byId, element } from "./dom.js";

/** Many changes may arrive together, and one request covers them. */
const refreshDelayMs = 150;

/** `show(card)` goes to the card. `isOpen(card)` is true if the page shows its conversation. */
export function createWaiting({ me, show, isOpen, onChange }) {
  const bar = byId("waiting");
  let cards = [];
  let known = new Set();
  let forWhom;
  let timer;
  let problem = "";
  let shown = "";

  async function load() {
    const person = me().id;
    if (person === "") return;
    const next = (await request("GET", `waiting?person=${encodeURIComponent(person)}`)).cards;
    if (person !== me().id) return;
    const added = forWhom === person ? next.filter(({ id }) => !known.has(id)) : [];
    forWhom = person;
    known = new Set([...known, ...next.map(({ id }) => id)]);
    cards = next;
    for (const card of added) announce(card);
    onChange();
  }

  function announce(card) {
    if (!document.hidden && document.hasFocus()) return;
    if (globalThis.Notification?.permission !== "granted") return;
    try {
      // The tag keeps several tabs from announcing the same card twice.
      const notice = new Notification("Remora needs an answer", {
        body: [sentence(card), card.headline?.replaceAll("`", "")].filter(Boolean).join("\n"),
        tag: `remora ${card.id}`,
      });
      notice.onclick = () => {
        window.focus();
        notice.close();
        show(card);
      };
    } catch {
      // Browsers of phones allow notifications only from a service worker. The title and the bar still tell.
    }
  }

  async function allow() {
    const permission = await Notification.requestPermission();
    if (permission === "denied")
      problem = "Your browser blocks notifications here. You can allow them in its settings for this site.";
    render();
  }

  /** Names what is not on the screen already. */
  function render() {
    const elsewhere = cards.filter((card) => !isOpen(card));
    const [first] = elsewhere;
    bar.hidden = first === undefined;
    if (bar.hidden) return void bar.replaceChildren();
    const isOne = elsewhere.length === 1;
    const text = isOne ? sentence(first) : `${elsewhere.length} requests are waiting for your answer.`;
    const canAsk = globalThis.Notification?.permission === "default";
    const small = (label, onclick) => button(label, { class: "button small", onclick });
    const said = [text, problem].filter(Boolean).join(" ");
    const signature = `${said} ${first.id} ${canAsk}`;
    if (signature === shown && bar.firstChild !== null) return;
    shown = signature;
    bar.replaceChildren(
      element("span", { text: said }),
      ...(isOne && first.headline ? [element("span", { class: "waiting-what" }, ...lineParts(first.headline))] : []),
      small(isOne ? "Show it" : "Show the first", () => show(first)),
      ...(canAsk ? [small("Notify me", allow)] : []),
    );
  }

  return {
    render,
    count: () => cards.length,
    refresh() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        load().catch((thrown) => {
          // The next change or connection asks again.
          if (!(thrown instanceof Failure)) throw thrown;
        });
      }, refreshDelayMs);
    },
  };
}

function sentence({ requester, place }) {
  const where = place.startsWith("dm:") ? "in your direct message" : `in #${place.slice("channel:".length)}`;
  return `${requester}'s request ${where} is waiting for your answer.`;
}
