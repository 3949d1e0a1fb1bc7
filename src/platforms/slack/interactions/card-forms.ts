/** The forms of a card: edit, choose files, allow, deny with a reason, hand over. Their initial contents are stored until the item is settled. */
import type { ApprovalCard } from "../../../ports/card.ts";
import type { InboundAnswer } from "../../../ports/message.ts";
import type { Store } from "../../../ports/store.ts";
import {
  allowCallback,
  allowModal,
  allowRefused,
  readPlace,
  readReason,
  reasonCallback,
  reasonModal,
  reasonRefused,
} from "./answer-modals.ts";
import type { CardPlace } from "./card-place.ts";
import { createEditDrafts, editCallback, editModal, editRefused, readEdit } from "./edit-modal.ts";
import {
  createFileLists,
  fileListOf,
  filesCallback,
  filesModal,
  filesRefused,
  noFilesText,
  readFiles,
} from "./files-modal.ts";
import { handoverCallback, handoverModal, handoverRefused, readHandover } from "./handover-modal.ts";

export const formCallbacks: readonly string[] = [
  editCallback,
  filesCallback,
  allowCallback,
  reasonCallback,
  handoverCallback,
];

export type FormChoice = "edit" | "part" | "allow" | "reason" | "handover";

export interface CardForms {
  keep(card: ApprovalCard): Promise<void>;
  drop(card: ApprovalCard): Promise<void>;
  view(choice: FormChoice, place: CardPlace): Promise<Record<string, unknown> | undefined>;
}

export interface Submission {
  place: CardPlace;
  answer: Pick<InboundAnswer, "choice" | "editedJson" | "parts" | "reason" | "to">;
  /** A message for the person. If present, the answer must not be passed on. */
  problem?: string;
  refused(text: string): Record<string, unknown>;
}

export function createCardForms(store: Store): CardForms {
  const drafts = createEditDrafts(store);
  const lists = createFileLists(store);
  const grants = createGrantTexts(store);
  return {
    async keep({ items }) {
      for (const item of items) {
        const list = fileListOf(item);
        if (item.editJson !== undefined) await drafts.keep(item.approvalId, item.editJson);
        if (list !== undefined) await lists.keep(item.approvalId, list);
        if (item.choices.includes("allow") && item.grantText !== undefined)
          await grants.keep(item.approvalId, item.grantText);
      }
    },
    async drop({ items }) {
      for (const { approvalId, changes } of items.filter(({ state }) => state !== "open")) {
        await (changes === undefined ? drafts : lists).drop(approvalId);
        await grants.drop(approvalId);
      }
    },
    async view(choice, place) {
      if (choice === "handover") return handoverModal(place);
      if (choice === "edit") {
        const json = await drafts.take(place.approvalId);
        return json === undefined ? undefined : editModal(place, json);
      }
      if (choice === "reason") return reasonModal(place);
      if (choice === "allow") {
        const text = await grants.take(place.approvalId);
        return text === undefined ? undefined : allowModal(place, text);
      }
      const list = await lists.take(place.approvalId);
      return list === undefined ? undefined : filesModal(place, list);
    },
  };
}

const keptMs = 30 * 86_400_000;

function createGrantTexts(store: Store) {
  const textKey = (approvalId: string) => `slack:allow:${approvalId}`;
  return {
    keep: (approvalId: string, text: string) => store.set(textKey(approvalId), text, keptMs),
    async take(approvalId: string): Promise<string | undefined> {
      const text = await store.get(textKey(approvalId));
      return typeof text === "string" ? text : undefined;
    },
    drop: (approvalId: string) => store.delete(textKey(approvalId)),
  };
}

export function readSubmission(callback: string, metadata: string, values: unknown): Submission | undefined {
  if (callback === reasonCallback || callback === allowCallback) {
    const place = readPlace(metadata);
    if (place === undefined) return undefined;
    if (callback === allowCallback) return { place, answer: { choice: "allow" }, refused: allowRefused };
    return { place, answer: { choice: "deny", reason: readReason(values) }, refused: reasonRefused };
  }
  if (callback === editCallback) {
    const edit = readEdit(metadata, values);
    return edit && { place: edit.place, answer: { choice: "edit", editedJson: edit.json }, refused: editRefused };
  }
  if (callback === handoverCallback) {
    const handed = readHandover(metadata, values);
    return handed && { place: handed.place, answer: { choice: "handover", to: handed.to }, refused: handoverRefused };
  }
  const files = callback === filesCallback ? readFiles(metadata, values) : undefined;
  if (files === undefined) return undefined;
  const { place, parts, denyLabel } = files;
  const problem = parts.length === 0 ? { problem: noFilesText(denyLabel) } : {};
  return { place, answer: { choice: "part", parts }, ...problem, refused: filesRefused };
}
