/** Renders one message. Rebuilds only changed sections, to preserve focus and scroll positions. */
import { cardView } from "./card-view.js";
import { copyButton } from "./copy.js";
import { avatar, button, element, iconButton, sizeOf, timeOf } from "./dom.js";
import { footerView } from "./footer-view.js";
import { rendered } from "./markdown.js";
import { progressLine } from "./progress-line.js";
import { questionView } from "./question-view.js";

/** Collapses messages from people that are longer than this; a click shows the whole message. */
const maxUnfoldedLength = 12_000;

export function createMessageView(actions) {
  const root = element("article", { class: "message" });
  const main = element("div", { class: "message-main" });
  const shown = new Map();
  let author;

  function section(name, value, make) {
    const signature = JSON.stringify(value) ?? "";
    const known = shown.get(name);
    if (known?.signature === signature) return;
    const box = known?.box ?? element("div", { class: `section-${name}` });
    const hadFocus = box.contains(document.activeElement);
    box.replaceChildren(...[make()].flat().filter(Boolean));
    if (known === undefined) main.append(box);
    if (hadFocus) box.querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
    shown.set(name, { signature, box });
  }

  function update(message, { follows, me, isInThread }) {
    const { type, text, state, activity, files, card, question, isDeleted, onlyFor } = message;
    const isMine = message.author.id === me.id && type === "message" && !isDeleted;
    if (author !== message.author.id) root.replaceChildren(avatar(message.author), main);
    author = message.author.id;
    const classes = ["message", follows && "follows", state, onlyFor && "is-private", (card || question) && "has-card"];
    root.className = classes.filter(Boolean).join(" ");
    root.setAttribute("aria-busy", `${state === "streaming"}`);
    root.setAttribute("aria-label", `${message.author.name}`);
    const isAnswer = message.author.isBot && text !== "" && state !== "streaming";
    section("actions", [isMine, isAnswer && text], () => (isMine || isAnswer) && actionsView(message, isMine, actions));
    section("head", [follows, message.author, message.at, message.editedAt, message.command, onlyFor], () =>
      headView(message, follows),
    );
    section("body", [text, state, isDeleted], () => bodyView(message));
    section("card", [card, me.id], () => card && cardView(message, me));
    section("question", [question, me.id], () => question && questionView(message, me));
    section("activity", [activity, message.activitySince, state, text === ""], () => progressLine(message));
    section("files", files, () => files.length > 0 && element("div", { class: "files" }, ...files.map(fileView)));
    section("footer", [message.footer, me.id], () => message.footer && footerView(message, me));
    const { replies, lastReplyAt, waitingCards } = message;
    section("replies", [isInThread, replies, lastReplyAt, waitingCards], () =>
      !isInThread && replies > 0 ? repliesView(message, actions) : undefined,
    );
  }

  return { root, update };
}

function headView(message, follows) {
  const { author, at, editedAt, onlyFor, command } = message;
  const notes = [command && `answers ${command}`, onlyFor && "only you can see this", editedAt && "edited"];
  const note = notes.filter(Boolean).join(" · ");
  const noteView = note !== "" && element("span", { class: "message-note", text: note });
  if (follows) return noteView && element("div", { class: "message-head" }, noteView);
  return element(
    "div",
    { class: "message-head" },
    element("span", { class: "message-author", text: author.name }),
    author.isBot && element("span", { class: "message-badge", text: "agent" }),
    timeOf(at),
    noteView,
  );
}

function bodyView({ author, text, state, isDeleted }) {
  if (isDeleted) return element("p", { class: "gone", text: "This message was deleted." });
  if (text === "") return undefined;
  if (author.isBot) return rendered(text, state === "streaming");
  const isFolded = text.length > maxUnfoldedLength;
  const said = element("div", { class: "said" }, ...withMentions(isFolded ? `${text.slice(0, 2000)}…` : text));
  if (!isFolded) return said;
  const all = button(`Show all ${text.length.toLocaleString()} characters`, {
    class: "button show-all",
    onclick: () => {
      said.textContent = text;
      all.remove();
    },
  });
  return [said, all];
}

function withMentions(text) {
  return text
    .split(/((?<![\p{L}\p{N}_.+-])@remora(?![\p{L}\p{N}_-]|\.\p{L}))/iu)
    .map((part, index) => (index % 2 === 1 ? element("span", { class: "mention", text: part }) : part));
}

function fileView({ id, name, mimeType, bytes }) {
  const href = `/local/api/files/${encodeURIComponent(id)}`;
  if (/^image\/(png|jpeg|gif|webp)$/.test(mimeType)) {
    const picture = element("img", { class: "picture", src: href, alt: name, loading: "lazy" });
    return element("a", { href, target: "_blank", rel: "noopener" }, picture);
  }
  return element(
    "a",
    { class: "file", href, download: name },
    element("span", { text: name }),
    element("small", { text: sizeOf(bytes) }),
  );
}

function repliesView(message, actions) {
  const { replies, lastReplyAt, waitingCards } = message;
  return button(
    undefined,
    { class: "replies", onclick: () => actions.openThread(message) },
    element("span", { text: replies === 1 ? "1 reply" : `${replies} replies` }),
    waitingCards > 0
      ? element("span", { class: "waiting", text: "needs an answer" })
      : element("small", {}, "last ", timeOf(lastReplyAt, "")),
  );
}

function actionsView(message, isMine, actions) {
  return element(
    "div",
    { class: "message-actions" },
    ...(isMine
      ? [
          iconButton("Edit the message", "edit", () => actions.edit(message.id)),
          iconButton("Delete the message", "remove", () => actions.remove(message.id)),
        ]
      : [copyButton("Copy the answer", () => message.text)]),
  );
}
