/** The page. The URL hash names what is open (`#/general/<message>`, `#/dm`) so that reload and back work. */
import { Failure, follow, request, upload } from "./api.js";
import { attempt, showBanner } from "./banner.js";
import { countDown } from "./card-view.js";
import { createChat, isThinking } from "./chat.js";
import { createComposer } from "./composer.js";
import { ask, byId, element } from "./dom.js";
import { emptyView } from "./empty-view.js";
import { createLogView } from "./log-view.js";
import { createSidebar } from "./sidebar.js";

const chat = createChat();
const renderSidebar = createSidebar();
const unread = new Set();
let open = { place: "channel:general", thread: null };
let stopFollowing = () => {};
let isRenderPlanned = false;

const actions = {
  openThread: (message) => go(message.place, message.id),
  async edit(id) {
    const title = "Edit the message";
    const about =
      "If Remora has not started on this message yet, it answers your edit. Otherwise, it answers the original.";
    const text = await ask({ title, about, label: "Message", value: chat.get(id).text, isLong: true, submit: "Save" });
    if (text !== undefined) await attempt(() => request("PATCH", `messages/${id}`, { person: chat.facts.me.id, text }));
  },
  async remove(id) {
    const about = "If Remora has not started on this message yet, it skips it. If it is working on it, it stops.";
    const isSure = await ask({ title: "Delete this message?", about, submit: "Delete", isDanger: true });
    if (isSure !== undefined) await attempt(() => request("DELETE", `messages/${id}`, { person: chat.facts.me.id }));
  },
};

const logs = { place: createLogView(byId("log"), actions), thread: createLogView(byId("thread-log"), actions) };
const composers = {
  place: createComposer(
    byId("composer"),
    composing("composer-text", () => ({ ...open, thread: null }), logs.place),
  ),
  thread: createComposer(
    byId("thread-composer"),
    composing("thread-text", () => open, logs.thread),
  ),
};

function composing(id, spot, log) {
  const to = () => {
    const { place, thread } = spot();
    const person = chat.facts.me.id;
    return place.startsWith("dm:") ? { person, dm: true } : { person, channel: place.slice(8), thread };
  };
  const taken = ({ message }) => {
    chat.merge(message);
    const isNewThread = message.place.startsWith("channel:") && message.thread === null && message.isAddressed;
    if (isNewThread) go(message.place, message.id);
    render();
    log.toEnd();
  };
  return {
    id,
    commands: () => chat.facts.commands,
    limits: () => chat.facts.limits,
    upload(uploadId, file, onProgress) {
      const query = new URLSearchParams({ person: chat.facts.me.id, name: file.name });
      return upload(`uploads/${uploadId}?${query}`, file, onProgress);
    },
    target: to,
    send: async (target, said) => taken(await request("POST", "messages", { ...target, ...said })),
    command: async (command) => taken(await request("POST", "commands", { ...to(), ...command })),
  };
}

async function load(person) {
  stopFollowing();
  const state = await request("GET", `state?person=${encodeURIComponent(person)}`);
  chat.load(state);
  localStorage.setItem("remora.person", state.me.id);
  let lostTimer;
  stopFollowing = follow(state.me.id, chat.revision, {
    onMessage: received,
    onReset: () => attempt(() => load(state.me.id)),
    onConnection(isConnected) {
      clearTimeout(lostTimer);
      if (isConnected) showBanner("");
      else lostTimer = setTimeout(() => showBanner("Connection lost. Reconnecting…"), 700);
    },
  });
  readHash();
  if (open.thread !== null) await loadThread();
  render();
}

function received(message) {
  const known = chat.merge(message);
  const isNew = known === undefined && message.author.id !== chat.facts.me.id;
  if (isNew && (message.place !== open.place || document.hidden)) unread.add(message.place);
  planRender();
}

/** Renders at most once per frame, because many changes may arrive in between. A hidden page has no frames. */
function planRender() {
  if (isRenderPlanned) return;
  isRenderPlanned = true;
  const run = () => {
    isRenderPlanned = false;
    render();
  };
  if (document.hidden) setTimeout(run, 200);
  else requestAnimationFrame(run);
}

function go(place, thread = null) {
  const name = place.startsWith("dm:") ? "dm" : place.slice("channel:".length);
  location.hash = `#/${name}${thread === null ? "" : `/${encodeURIComponent(thread)}`}`;
}

function readHash() {
  const [name = "", thread] = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  const { channels, me } = chat.facts;
  const channel = channels.includes(name) ? name : channels[0];
  open =
    name === "dm" ? { place: `dm:${me.id}`, thread: null } : { place: `channel:${channel}`, thread: thread ?? null };
}

async function loadThread() {
  const person = encodeURIComponent(chat.facts.me.id);
  const { messages } = await request("GET", `messages?person=${person}&thread=${encodeURIComponent(open.thread)}`);
  for (const message of messages) chat.merge(message);
  if (messages.length === 0) go(open.place);
}

async function loadOlder() {
  const { place } = open;
  const person = encodeURIComponent(chat.facts.me.id);
  const { messages } = await request("GET", `messages?person=${person}&place=${place}&before=${chat.oldest(place)}`);
  chat.keepPage(place, messages);
  render();
}

function render() {
  const { facts } = chat;
  const { place, thread } = open;
  const isDirect = place.startsWith("dm:");
  const name = isDirect ? "Remora" : `#${place.slice(8)}`;
  if (!document.hidden) unread.delete(place);
  renderSidebar({ facts, open, unread, go, speakAs, addPerson });
  document.title = `${unread.size > 0 ? "• " : ""}${name} · Remora`;
  byId("place-title").textContent = name;
  byId("place-about").textContent = isDirect
    ? `Private between ${facts.me.name} and the agent`
    : "Mention @remora to get an answer in a thread";
  renderPlace(name, isDirect);
  byId("thread").hidden = thread === null;
  if (thread !== null) renderThread(name);
}

function renderPlace(name, isDirect) {
  const { facts } = chat;
  const messages = chat.inPlace(open.place);
  const older =
    chat.hasOlder(open.place) &&
    element("button", {
      type: "button",
      class: "button older",
      text: "Older messages",
      onclick: () => attempt(loadOlder),
    });
  const empty = emptyView(name, isDirect, (text) => composers.place.write(text));
  const thinking = isDirect && isThinking(messages);
  logs.place.render(`${facts.me.id} ${open.place}`, messages, {
    me: facts.me,
    isInThread: false,
    older,
    empty,
    isThinking: thinking,
  });
  composers.place.show({
    key: `${facts.me.id} ${open.place}`,
    label: `Message ${name} as ${facts.me.name}`,
    placeholder: `Message ${name} as ${facts.me.name}`,
    hint: "Enter to send, Shift+Enter for a new line, / for commands",
    isMentionOffered: !isDirect,
  });
}

function renderThread(name) {
  const { facts } = chat;
  const messages = chat.inThread(open.thread);
  byId("thread-about").textContent = name;
  const key = `${facts.me.id} ${open.thread}`;
  logs.thread.render(key, messages, { me: facts.me, isInThread: true, isThinking: isThinking(messages) });
  composers.thread.show({
    key,
    label: `Reply in the thread as ${facts.me.name}`,
    placeholder: `Reply as ${facts.me.name}`,
    hint: "",
    isMentionOffered: false,
  });
}

async function speakAs(id) {
  const isDirect = open.place.startsWith("dm:");
  await attempt(() => load(id));
  if (isDirect) readHash();
  render();
}

async function addPerson() {
  const about = "Speak as somebody else to see what they can see and do.";
  const name = await ask({ title: "Add a person", about, label: "Name", submit: "Add" });
  if (name === undefined) return;
  await attempt(async () => {
    const { person } = await request("POST", "people", { name });
    await load(person.id);
  });
}

window.addEventListener("hashchange", async () => {
  const before = open;
  readHash();
  render();
  if (open.thread !== null && open.thread !== before.thread) {
    await attempt(loadThread);
    render();
    if (!byId("thread").contains(document.activeElement)) composers.thread.focus();
  } else if (before.thread !== null && open.thread === null) composers.place.focus();
});
document.addEventListener("visibilitychange", render);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && open.thread !== null && document.querySelector("dialog[open]") === null) go(open.place);
});
byId("thread-close").addEventListener("click", () => go(open.place));
setInterval(countDown, 1000);

async function start() {
  try {
    await load(localStorage.getItem("remora.person") ?? "");
    composers.place.focus();
  } catch (thrown) {
    showBanner(thrown instanceof Failure ? thrown.message : "The page couldn't start. Reload it.");
    setTimeout(start, 3000);
  }
}
start();
