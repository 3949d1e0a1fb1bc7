/** The page's copy of the chat: the newest known revision of each message. Places are loaded when they are opened. */

export function createChat() {
  const messages = new Map();
  /** Maps each loaded place to the sequence number from which all its messages outside threads are known. */
  const from = new Map();
  let facts = { me: { id: "", name: "" }, people: [], agent: {}, channels: [], commands: [], limits: {}, pageSize: 50 };
  let revision = 0;

  function merge(message) {
    const known = messages.get(message.id);
    if (known === undefined || known.revision <= message.revision) messages.set(message.id, message);
    return known;
  }

  /** Hides the agent's emptied placeholders. A person's deleted message is shown only if it started a thread. */
  function isShown(message) {
    return !message.isDeleted || (message.replies > 0 && message.thread === null && !message.author.isBot);
  }

  function sorted(isWanted) {
    return [...messages.values()].filter(isWanted).sort((one, other) => one.sequence - other.sequence);
  }

  return {
    get facts() {
      return facts;
    },
    /** Every change up to this revision is here, so the live stream resumes from it. Only the stream moves it. */
    revision: () => revision,
    load(state) {
      messages.clear();
      from.clear();
      facts = state;
      revision = state.revision;
    },
    merge,
    receive(message) {
      revision = Math.max(revision, message.revision);
      return merge(message);
    },
    keepPage(place, page) {
      for (const message of page) merge(message);
      const isWhole = page.length < facts.pageSize;
      from.set(place, isWhole ? 0 : page[0].sequence);
    },
    isLoaded: (place) => from.has(place),
    update(lists) {
      facts = { ...facts, ...lists };
    },
    get: (id) => messages.get(id),
    hasOlder: (place) => (from.get(place) ?? 0) > 0,
    oldest: (place) => from.get(place),
    inPlace: (place) =>
      from.has(place)
        ? sorted(
            (message) =>
              message.place === place &&
              message.thread === null &&
              message.sequence >= from.get(place) &&
              isShown(message),
          )
        : [],
    inThread: (id) => sorted((message) => message.id === id || (message.thread === id && isShown(message))),
  };
}

/** An answer that has not begun after this time will not come. */
const maxThinkingMs = 10 * 60_000;

export function isThinking(messages) {
  const last = messages.at(-1);
  if (last === undefined || last.author.isBot || last.isDeleted || !last.isAddressed) return false;
  // A message that says only "stop" stops the running turn and gets no answer.
  if (/^\s*(?:@remora\b[\s,:]*)?stop[.!]*\s*$/i.test(last.text)) return false;
  return Date.now() - last.at < maxThinkingMs;
}

/** True if a progress line in the messages shows the time already. */
export function isTimed(messages) {
  return messages.some(({ state, activity, activitySince }) => state === "streaming" && activity && activitySince);
}

/** When the running work began, or undefined. A card starts the time again, because the agent waited for people. */
export function workingSince(messages) {
  const isWorking = isThinking(messages) || messages.some(({ state }) => state === "streaming");
  if (!isWorking) return undefined;
  const began = messages.findLast(({ author, isAddressed, type }) => (author.isBot ? type === "card" : isAddressed));
  return (began ?? messages.at(-1)).at;
}
