/** A card as the page's own code makes it, in a document without a browser. */
import { parseHTML } from "linkedom/worker";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";

/** As much of the DOM as is needed here; the project is compiled without a browser's types. */
interface PageNode {
  localName?: string;
  childNodes: Iterable<PageNode>;
  textContent: string;
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): Iterable<PageNode>;
}

const { document } = parseHTML("<!doctype html><html><body></body></html>") as unknown as { document: object };
Object.assign(globalThis, { document });
const path = new URL("../../../src/platforms/local/page/card-view.js", import.meta.url).href;
const { cardView }: { cardView: (message: Pick<StoredMessage, "id" | "card">, me: { id: string }) => PageNode } =
  await import(path);

export interface CardSeen {
  /** What a screen reader calls the card. */
  name: string | null;
  text: string;
  choices: AnswerChoice[];
  labels: string[];
}

export function viewOf(message: Pick<StoredMessage, "id" | "card">): CardSeen {
  const view = cardView(message, { id: "ann" });
  const buttons = [...view.querySelectorAll("button[data-choice]")];
  return {
    name: view.getAttribute("aria-label"),
    text: textOf(view),
    choices: buttons.map((button) => button.getAttribute("data-choice") as AnswerChoice),
    labels: buttons.map((button) => button.textContent),
  };
}

function textOf(node: PageNode): string {
  const children = [...node.childNodes];
  const text = children.length === 0 ? node.textContent : children.map(textOf).join("");
  return /^(?:p|li|pre|div|h3)$/.test(node.localName ?? "") ? `${text}\n` : text;
}
