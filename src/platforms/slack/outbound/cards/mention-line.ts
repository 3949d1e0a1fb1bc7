/** Whom a card mentions, in rich text, in which only these elements can notify anybody. Ids come from the settings. */
import type { ApprovalCard, CardNote, NotePart } from "../../../../ports/card.ts";
import type { Block, MessageContent } from "../render.ts";
import { plain, type RichElement, richText } from "../rich-text.ts";
import { beginningOf, escapeText } from "../safe-text.ts";

/** More would not be read, and must not use up the room of the call. */
const maxLineCharacters = 1_000;
const userPattern = /^[UW][A-Z0-9]+$/;
const groupPattern = /^S[A-Z0-9]+$/;

/** A settled card must not ping. A copy still says whose request it was, and where. */
export function notifyBlocks({ items, notify, copy }: ApprovalCard): Block[] {
  const isOpen = items.some(({ state }) => state === "open");
  const link: RichElement[] =
    copy?.link === undefined ? [] : [plain(" "), { type: "link", url: copy.link, text: "See the conversation" }];
  return [
    ...(copy === undefined ? [] : [richText([shortened(copy.text), ...link])]),
    ...(notify === undefined || !isOpen ? [] : [richText(notify.line.map(elementOf))]),
  ];
}

export function noteMessage({ line }: CardNote): MessageContent {
  const text = line.map((part) => (typeof part === "string" ? part : `@${part.name}`)).join("");
  return { text: escapeText(beginningOf(text, maxLineCharacters)), blocks: [richText(line.map(elementOf))] };
}

function elementOf(part: NotePart): RichElement {
  if (typeof part === "string") return shortened(part);
  if ("userId" in part && userPattern.test(part.userId)) return { type: "user", user_id: part.userId };
  if ("roleId" in part && groupPattern.test(part.roleId)) return { type: "usergroup", usergroup_id: part.roleId };
  return shortened(`@${part.name}`);
}

function shortened(text: string): RichElement {
  return plain(beginningOf(text, maxLineCharacters));
}
