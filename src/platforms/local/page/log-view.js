/** A list of messages that adds new ones, updates the others in place, and stays scrolled to the end. */
import { dayOf, element } from "./dom.js";
import { createMessageView } from "./message-view.js";

/** Messages of one author that are closer together than this share one heading. */
const togetherMs = 5 * 60_000;
const nearPixels = 90;
const pointOutMs = 2_000;

export function createLogView(log, actions) {
  const views = new Map();
  let shownKey;
  let newest;
  let topSeen = 0;
  let isFollowing = true;
  /** The tall card that was shown from its top. From then on, people scroll to its buttons. */
  let begun;

  const isNearEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < nearPixels;
  log.addEventListener("scroll", () => {
    // A log that grows keeps its scroll position, so only a person scrolls up.
    if (isNearEnd()) isFollowing = true;
    else if (log.scrollTop < topSeen) isFollowing = false;
    topSeen = log.scrollTop;
  });
  // Pictures get their height when they have loaded, which is after the log was scrolled. `load` does not bubble.
  log.addEventListener("load", () => isFollowing && scrollToEnd(), true);

  /** Shows a card taller than the window from its top, because people must read it before they reach the buttons. */
  function scrollToEnd() {
    const root = newest?.state === "waiting" ? views.get(newest.id)?.root : undefined;
    const isTall = root !== undefined && root.offsetHeight > log.clientHeight;
    if (isTall && begun === newest.id) return;
    begun = isTall ? newest.id : undefined;
    log.scrollTop = isTall ? root.offsetTop : log.scrollHeight;
  }

  /** `empty` and `older` are elements or undefined. `isInThread` is true if the log shows a thread. */
  function render(key, messages, { me, isInThread, empty, older, isThinking }) {
    const isOther = key !== shownKey;
    const isAtEnd = isOther || isFollowing || isNearEnd();
    const heightBefore = log.scrollHeight;
    const topBefore = log.scrollTop;
    const firstBefore = log.querySelector("[data-id]")?.dataset.id;
    if (isOther) views.clear();
    shownKey = key;

    const wanted = older ? [older] : [];
    for (const [index, message] of messages.entries()) {
      const previous = messages[index - 1];
      const isNewDay = previous === undefined || dayOf(previous.at) !== dayOf(message.at);
      if (isNewDay && !isInThread) wanted.push(element("div", { class: "day", text: dayOf(message.at) }));
      wanted.push(viewOf(message, { follows: !isNewDay && follows(previous, message), me, isInThread }));
      if (isInThread && index === 0) wanted.push(ruleOf(messages.length - 1));
    }
    if (messages.length === 0 && empty) wanted.push(empty);
    if (isThinking) wanted.push(thinking());
    place(log, wanted);

    const wasPrepended = firstBefore !== undefined && firstBefore !== messages[0]?.id && !isOther;
    newest = messages.at(-1);
    isFollowing = isAtEnd;
    if (isOther) begun = undefined;
    if (isAtEnd) scrollToEnd();
    else if (wasPrepended) log.scrollTop = topBefore + log.scrollHeight - heightBefore;
  }

  function viewOf(message, context) {
    const view = views.get(message.id) ?? createMessageView(actions);
    views.set(message.id, view);
    const seen = [message, context.follows, context.me.id, context.isInThread];
    // Rendering a thousand unchanged messages with each word of an answer would be slow.
    if (view.seen?.every((value, index) => value === seen[index])) return view.root;
    view.seen = seen;
    view.root.dataset.id = message.id;
    view.update(message, context);
    return view.root;
  }

  return {
    render,
    /** Brings a message into view and gives it the focus. False if it is not here. */
    reveal(id) {
      const root = views.get(id)?.root;
      if (root?.isConnected !== true) return false;
      isFollowing = false;
      root.scrollIntoView({ block: "center" });
      root.animate([{ background: "var(--warn-soft)" }, {}], { duration: pointOutMs });
      const inside = root.querySelector(".card") ?? root;
      inside.tabIndex = -1;
      inside.focus({ preventScroll: true });
      return true;
    },
    toEnd() {
      log.scrollTop = log.scrollHeight;
    },
  };
}

/** Leaves elements that are in place untouched, because a moved element loses focus and scroll position. */
function place(log, wanted) {
  const keep = new Set(wanted);
  for (const child of [...log.children]) if (!keep.has(child)) child.remove();
  for (const [index, child] of wanted.entries()) {
    if (log.children[index] !== child) log.insertBefore(child, log.children[index] ?? null);
  }
}

function follows(previous, message) {
  return (
    previous.author.id === message.author.id &&
    message.at - previous.at < togetherMs &&
    previous.onlyFor === message.onlyFor &&
    message.type !== "receipt" &&
    previous.type !== "receipt" &&
    !previous.isDeleted
  );
}

function ruleOf(replies) {
  return element("div", { class: "thread-rule", text: replies === 1 ? "1 reply" : `${replies} replies` });
}

function thinking() {
  const dots = element("span", { class: "thinking-dots", "aria-hidden": "true" });
  dots.append(element("i"), element("i"), element("i"));
  return element("div", { class: "thinking" }, dots, element("span", { text: "Remora is thinking" }));
}
