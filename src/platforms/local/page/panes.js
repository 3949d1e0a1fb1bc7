/** The two columns: the open place and the open thread, each with its messages, its working line and its composer. */
import { request, upload } from "./api.js";
import { attempt } from "./banner.js";
import { isThinking, isTimed, workingSince } from "./chat.js";
import { createComposer } from "./composer.js";
import { button, byId } from "./dom.js";
import { emptyView } from "./empty-view.js";
import { createLogView } from "./log-view.js";
import { createWorkingLine } from "./working.js";

/** With at most this many messages beside it, the thread gets most of the room. */
const maxFewMessages = 3;
/** Of this browser, so that "tomorrow at 9" means what its clock shows. */
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();

/** `open()` is what the page shows. `render()` shows a change. `loadOlder()` loads earlier messages of the place. */
export function createPanes({ chat, open, go, actions, render, loadOlder }) {
  const place = createPane({ log: "log", slot: "composer", text: "composer-text" }, () => ({
    ...open(),
    thread: null,
  }));
  const thread = createPane({ log: "thread-log", slot: "thread-composer", text: "thread-text" }, open);

  function createPane(ids, spot) {
    const log = createLogView(byId(ids.log), actions);
    const to = () => {
      const { place, thread } = spot();
      const person = chat.facts.me.id;
      return place.startsWith("dm:") ? { person, dm: true } : { person, channel: place.slice(8), thread };
    };
    const taken = ({ message }) => {
      chat.merge(message);
      const isNewThread = message.place.startsWith("channel:") && message.thread === null && message.isAddressed;
      // The person may have opened another place meanwhile, or write in another thread.
      const isFree = open().place === message.place && !thread.composer.hasFocus();
      if (isNewThread && isFree) go(message.place, message.id);
      render();
      log.toEnd();
    };
    const command = async (order) => taken(await request("POST", "commands", { ...to(), ...order, timeZone }));
    const slot = byId(ids.slot);
    const composer = createComposer(slot, {
      id: ids.text,
      commands: () => chat.facts.commands,
      limits: () => chat.facts.limits,
      upload(uploadId, file, onProgress) {
        const query = new URLSearchParams({ person: chat.facts.me.id, name: file.name });
        return upload(`uploads/${uploadId}?${query}`, file, onProgress);
      },
      target: to,
      send: async (target, said) => taken(await request("POST", "messages", { ...target, ...said, timeZone })),
      command,
    });
    const stop = () => attempt(() => command({ name: "stop", rest: "" }));
    return { log, composer, working: createWorkingLine(slot, stop) };
  }

  function renderPlace(name, isDirect, messages) {
    const { facts } = chat;
    const here = open().place;
    const key = `${facts.me.id} ${here}`;
    const older = chat.hasOlder(here) && button("Older messages", { class: "button older", onclick: loadOlder });
    const empty = chat.isLoaded(here) && emptyView(name, isDirect, (text) => place.composer.write(text));
    place.log.render(key, messages, {
      ...{ me: facts.me, isInThread: false, older, empty },
      isThinking: isDirect && isThinking(messages),
    });
    place.working.show(isDirect ? workingSince(messages) : undefined, isTimed(messages));
    place.composer.show({
      key,
      label: `Message ${name} as ${facts.me.name}`,
      placeholder: `Message ${name} as ${facts.me.name}`,
      hint: "Enter to send, Shift+Enter for a new line, / for commands",
      isMentionOffered: !isDirect,
    });
  }

  function renderThread(name) {
    const { facts } = chat;
    const messages = chat.inThread(open().thread);
    byId("thread-about").textContent = name;
    const key = `${facts.me.id} ${open().thread}`;
    thread.log.render(key, messages, { me: facts.me, isInThread: true, isThinking: isThinking(messages) });
    thread.working.show(workingSince(messages), isTimed(messages));
    thread.composer.show({
      key,
      label: `Reply in the thread as ${facts.me.name}`,
      placeholder: `Reply as ${facts.me.name}`,
      hint: "",
      isMentionOffered: false,
    });
  }

  return {
    place,
    thread,
    reveal: (id) => (open().thread !== null && thread.log.reveal(id)) || place.log.reveal(id),
    connected() {
      place.composer.connected();
      thread.composer.connected();
    },
    tick() {
      place.working.tick();
      thread.working.tick();
    },
    render() {
      const here = open();
      const isDirect = here.place.startsWith("dm:");
      const name = isDirect ? "Remora" : `#${here.place.slice(8)}`;
      const messages = chat.inPlace(here.place);
      byId("place-title").textContent = name;
      byId("place-about").textContent = isDirect
        ? `Private between ${chat.facts.me.name} and the agent`
        : "Mention @remora to get an answer in a thread";
      renderPlace(name, isDirect, messages);
      byId("thread").hidden = here.thread === null;
      byId("app").classList.toggle("wide-thread", here.thread !== null && messages.length <= maxFewMessages);
      if (here.thread !== null) renderThread(name);
      return name;
    },
  };
}
