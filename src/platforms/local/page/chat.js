/** The page's copy of the chat: the newest known revision of each message. */

export function createChat() {
  const messages = new Map();
  /** Maps each place to the sequence number from which all its messages outside threads are loaded. */
  const from = new Map();
  let facts = { me: { id: "", name: "" }, people: [], agent: {}, channels: [], commands: [], limits: {}, pageSize: 50 };
  let revision = 0;

  function merge(message) {
    const known = messages.get(message.id);
    if (known === undefined || known.revision <= message.revision) messages.set(message.id, message);
    revision = Math.max(revision, message.revision);
    return known;
  }

  function keepPage(place, page) {
    for (const message of page) merge(message);
    const isWhole = page.length < facts.pageSize;
    from.set(place, isWhole ? 0 : page[0].sequence);
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
    revision: () => revision,
    load(state) {
      messages.clear();
      from.clear();
      facts = state;
      revision = state.revision;
      for (const [place, page] of Object.entries(state.messages)) keepPage(place, page);
    },
    merge,
    keepPage,
    addPerson(person) {
      facts = { ...facts, people: [...facts.people, person] };
    },
    get: (id) => messages.get(id),
    hasOlder: (place) => (from.get(place) ?? 0) > 0,
    oldest: (place) => from.get(place),
    inPlace: (place) =>
      sorted(
        (message) =>
          message.place === place &&
          message.thread === null &&
          message.sequence >= (from.get(place) ?? 0) &&
          isShown(message),
      ),
    inThread: (id) => sorted((message) => message.id === id || (message.thread === id && isShown(message))),
  };
}

export function isThinking(messages) {
  const last = messages.at(-1);
  if (last === undefined || last.author.isBot || last.isDeleted || !last.isAddressed) return false;
  // A message that says only "stop" stops the running turn and gets no answer.
  if (/^\s*(?:@remora\b[\s,:]*)?stop[.!]*\s*$/i.test(last.text)) return false;
  return Date.now() - last.at < 10 * 60_000;
}
