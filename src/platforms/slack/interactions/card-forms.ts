/** The forms of a card: edit, choose files, allow, deny with a reason, hand over. */
import type { InboundAnswer } from "../../../ports/message.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import type { View } from "../api/views.ts";
import {
  allowCallback,
  allowModal,
  allowRefused,
  handoverCallback,
  handoverModal,
  handoverRefused,
  readPerson,
  readReason,
  reasonCallback,
  reasonModal,
  reasonRefused,
} from "./answer-modals.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";
import { editCallback, editModal, editRefused, readEdit } from "./edit-modal.ts";
import { filesCallback, filesModal, filesRefused, noFilesText, readFiles } from "./files-modal.ts";
import { answerCallback, answerModal, answerRefused, readAnswer } from "./words-modal.ts";

export const formCallbacks: readonly string[] = [
  editCallback,
  filesCallback,
  allowCallback,
  reasonCallback,
  handoverCallback,
  answerCallback,
];

export type FormChoice = "edit" | "part" | "allow" | "reason" | "handover" | "answer";

/** Resolves to undefined if the contents have expired or the item is settled. */
export async function openedForm(
  choice: FormChoice,
  place: CardPlace,
  contents: FormContents,
): Promise<View | undefined> {
  switch (choice) {
    case "reason":
      return reasonModal(place);
    case "handover":
      return handoverModal(place);
    case "edit": {
      const json = await contents.arguments(place.approvalId);
      return json === undefined ? undefined : editModal(place, json);
    }
    case "allow": {
      const text = await contents.grantText(place.approvalId);
      return text === undefined ? undefined : allowModal(place, text);
    }
    case "answer": {
      const asked = await contents.question(place.approvalId);
      return asked === undefined ? undefined : answerModal(place, asked);
    }
    case "part": {
      const files = await contents.files(place.approvalId);
      return files === undefined ? undefined : filesModal(place, files);
    }
    default:
      return choice satisfies never;
  }
}

interface ReadForm {
  answer:
    | Pick<InboundAnswer, "choice" | "editedJson" | "parts" | "reason" | "to">
    /** To a question. */
    | { said: ReturnType<typeof readAnswer> };
  /** A message for the person. If present, the answer must not be passed on. */
  problem?: string;
  refused(text: string): View;
}

export interface Submission extends ReadForm {
  place: CardPlace;
}

/** Returns undefined for a modal that is not a card's form, or whose metadata can't be read. */
export function readSubmission(callback: string, metadata: string, values: unknown): Submission | undefined {
  const place = readMetadata(metadata, cardPlaceSchema);
  const form = readForm(callback, metadata, values);
  return place && form && { place, ...form };
}

function readForm(callback: string, metadata: string, values: unknown): ReadForm | undefined {
  switch (callback) {
    case reasonCallback:
      return { answer: { choice: "deny", reason: readReason(values) }, refused: reasonRefused };
    case allowCallback:
      return { answer: { choice: "allow" }, refused: allowRefused };
    case answerCallback:
      return { answer: { said: readAnswer(values) }, refused: answerRefused };
    case handoverCallback:
      return { answer: { choice: "handover", to: readPerson(values) }, refused: handoverRefused };
    case editCallback: {
      const editedJson = readEdit(metadata, values);
      return editedJson === undefined ? undefined : { answer: { choice: "edit", editedJson }, refused: editRefused };
    }
    case filesCallback: {
      const files = readFiles(metadata, values);
      if (files === undefined) return undefined;
      const problem = files.parts.length === 0 ? { problem: noFilesText(files.denyLabel) } : {};
      return { answer: { choice: "part", parts: files.parts }, ...problem, refused: filesRefused };
    }
    default:
      return undefined;
  }
}
