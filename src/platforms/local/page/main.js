/** The page. The URL hash names what is open (`#/general/<message>`, `#/dm`) so that reload and back work. */
import { Failure, follow, request } from "./api.js";
import { attempt, problemOf, showBanner } from "./banner.js";
import { countDown } from "./card-view.js";
import { createChat } from "./chat.js";
import { ask } from "./dialog.js";
import { byId } from "./dom.js";
import { createPanes } from "./panes.js";
import { openSearch } from "./search.js";
import { createSidebar } from "./sidebar.js";
import { remember, remembered } from "./storage.js";
import { createWaiting } from "./waiting.js";

/** A page that takes long to show waits this many times longer, so that a person can still type and scroll. */
const restFactor = 4;
const maxRestMs = 2_000;
const hiddenRenderMs = 200;
const lostAfterMs = 700;
const restartMs = 3_000;

const chat = createChat();
const renderSidebar = createSidebar();
const unread = new Set();
let open = { place: "channel:general", thread: null };
let stopFollowing = () => {};
let lostTimer;
let isRenderPlanned = false;
let lastRenderMs = 0;
/** The message to bring into view once it is there. */
let target;

const actions = {
  openThread: (message) => go(message.place, message.id),
  async edit(id) {
    const title = "Edit the message";
    const about =
      "If Remora has not started on this message yet, it answers your edit. Otherwise, it answers the original, and cancels what waits for approval.";
    const text = await ask({ title, about, label: "Message", value: chat.get(id).text, isLong: true, submit: "Save" });
    if (text !== undefined) await attempt(() => request("PATCH", `messages/${id}`, { person: chat.facts.me.id, text }));
  },
  async remove(id) {
    const about = "If Remora has not started on this message yet, it skips it. If it is working on it, it stops.";
    const isSure = await ask({ title: "Delete this message?", about, submit: "Delete", isDanger: true });
    if (isSure !== undefined) await attempt(() => request("DELETE", `messages/${id}`, { person: chat.facts.me.id }));
  },
};

const panes = createPanes({
  ...{ chat, go, actions, render },
  open: () => open,
  loadOlder: () => attempt(() => loadPage(open.place, chat.oldest(open.place))),
});
const waiting = createWaiting({
  me: () => chat.facts.me,
  show: ({ place, thread, id }) => goTo(place, thread, id),
  isOpen: ({ place, thread }) => !document.hidden && open.place === place && open.thread === thread,
  onChange: planRender,
});

async function load(person) {
  const state = await request("GET", `state?person=${encodeURIComponent(person)}`);
  // Not before, because the page still needs the stream if that fails, and another load may have opened one meanwhile.
  stopFollowing();
  chat.load(state);
  remember("person", state.me.id);
  stopFollowing = follow(state.me.id, chat.revision, {
    onMessage: received,
    onLists(lists) {
      chat.update(lists);
      planRender();
    },
    onReset: () => attempt(() => load(state.me.id)),
    onConnection(isConnected) {
      clearTimeout(lostTimer);
      if (isConnected) {
        showBanner("");
        panes.connected();
      } else lostTimer = setTimeout(() => showBanner("Connection lost. Reconnecting…"), lostAfterMs);
    },
    onOpen: () => waiting.refresh(),
  });
  readHash();
  await loadOpen();
  render();
}

function received(message) {
  const known = chat.receive(message);
  const isNew = known === undefined && message.author.id !== chat.facts.me.id;
  if (isNew && (message.place !== open.place || document.hidden)) unread.add(message.place);
  if (message.type === "card") waiting.refresh();
  planRender();
}

/** Renders at most once per frame, because many changes may arrive in between. A hidden page has no frames. */
function planRender() {
  if (isRenderPlanned) return;
  isRenderPlanned = true;
  const run = () => {
    isRenderPlanned = false;
    const began = performance.now();
    render();
    lastRenderMs = performance.now() - began;
  };
  const isSlow = lastRenderMs > 1000 / 30;
  if (document.hidden) setTimeout(run, hiddenRenderMs);
  else if (isSlow) setTimeout(run, Math.min(maxRestMs, lastRenderMs * restFactor));
  else requestAnimationFrame(run);
}

function go(place, thread = null) {
  const name = place.startsWith("dm:") ? "dm" : encodeURIComponent(place.slice("channel:".length));
  location.hash = `#/${name}${thread === null ? "" : `/${encodeURIComponent(thread)}`}`;
}

/** Opens what holds the message, and brings it into view. */
async function goTo(place, thread, id) {
  target = id;
  // A message that started a thread is best read with its replies.
  const root = thread ?? (chat.get(id)?.replies > 0 && place.startsWith("channel:") ? id : null);
  go(place, root);
  await loadOpen();
  render();
  while (open.place === place && chat.get(id) === undefined && chat.hasOlder(place))
    await attempt(() => loadPage(place, chat.oldest(place)));
  render();
}

function readHash() {
  const [name = "", thread] = location.hash.replace(/^#\//, "").split("/").map(decoded);
  const { channels, me } = chat.facts;
  const channel = channels.includes(name) ? name : channels[0];
  open =
    name === "dm" ? { place: `dm:${me.id}`, thread: null } : { place: `channel:${channel}`, thread: thread ?? null };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/** Loads what the page shows and doesn't have yet. */
async function loadOpen() {
  readHash();
  const { place, thread } = open;
  await Promise.all([
    chat.isLoaded(place) ? undefined : loadPage(place),
    thread === null ? undefined : loadThread(open),
  ]);
}

async function loadPage(place, before) {
  const query = new URLSearchParams({ person: chat.facts.me.id, place, ...(before === undefined ? {} : { before }) });
  const { messages } = await request("GET", `messages?${query}`);
  chat.keepPage(place, messages);
  render();
}

async function loadThread({ place, thread }) {
  const { messages } = await request("GET", `messages?${new URLSearchParams({ person: chat.facts.me.id, thread })}`);
  for (const message of messages) chat.merge(message);
  if (messages.length === 0 && open.thread === thread) go(place);
}

function render() {
  const { facts } = chat;
  if (!document.hidden) unread.delete(open.place);
  renderSidebar({ facts, open, unread, go, speakAs, addPerson, addChannel });
  const name = panes.render();
  waiting.render();
  const count = waiting.count();
  document.title = `${count > 0 ? `(${count}) ` : unread.size > 0 ? "• " : ""}${name} · Remora`;
  if (target !== undefined && panes.reveal(target)) target = undefined;
}

async function speakAs(id) {
  await attempt(() => load(id));
}

async function addPerson() {
  let added;
  const about = "Speak as somebody else to see what they can see and do.";
  const check = problemOf(async (name) => {
    added = (await request("POST", "people", { name })).person;
  });
  await ask({ title: "Add a person", about, label: "Name", submit: "Add", check });
  if (added !== undefined) await attempt(() => load(added.id));
}

async function addChannel() {
  let added;
  const about = "Everybody on this page can read and write in it.";
  const check = problemOf(async (name) => {
    added = (await request("POST", "channels", { name })).channel;
  });
  await ask({ title: "New channel", about, label: "Name", submit: "Create", check });
  if (added === undefined) return;
  if (!chat.facts.channels.includes(added)) chat.update({ channels: [...chat.facts.channels, added] });
  go(`channel:${added}`);
}

function search() {
  const { me, channels } = chat.facts;
  if (me.id !== "" && document.querySelector("dialog[open]") === null) openSearch({ me, channels, go: opened });
}

function opened(place, thread = null, id = undefined) {
  if (id === undefined) go(place);
  else attempt(() => goTo(place, thread, id));
}

window.addEventListener("hashchange", async () => {
  const before = open;
  readHash();
  render();
  // Before the load: later, it would take the focus, and the words, from a person who has begun to write.
  moveFocus(before);
  await attempt(loadOpen);
  render();
});

function moveFocus(before) {
  if (target !== undefined) return;
  if (open.thread === null && before.thread !== null) panes.place.composer.focus();
  else if (open.thread !== before.thread && !byId("thread").contains(document.activeElement) && !isWriting())
    panes.thread.composer.focus();
}

function isWriting() {
  return document.activeElement instanceof HTMLTextAreaElement && document.activeElement.value !== "";
}

document.addEventListener("visibilitychange", render);
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    search();
  }
  if (event.key === "Escape" && open.thread !== null && document.querySelector("dialog[open]") === null) go(open.place);
});
byId("search").addEventListener("click", search);
byId("thread-close").addEventListener("click", () => go(open.place));
// A file that misses a composer must not replace the page.
for (const type of ["dragover", "drop"]) document.addEventListener(type, (event) => event.preventDefault());
setInterval(() => {
  countDown();
  panes.tick();
}, 1000);

async function start() {
  try {
    await load(remembered("person") ?? "");
    panes.place.composer.focus();
  } catch (thrown) {
    showBanner(thrown instanceof Failure ? thrown.message : "The page couldn't start. Reload it.");
    setTimeout(start, restartMs);
  }
}
start();
