/** The form behind Answer…: the plugin's question in quotes, a field for words, and one for files if it takes some. */
import { ComponentType, TextInputStyle } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { maxAnswerCharacters } from "../../../ports/question.ts";
import type { AskedInWords } from "../../shared/form-contents.ts";
import { maxOptionDescriptionLength } from "../limits.ts";
import { escapePlain } from "../outbound/plain-text.ts";
import type { ButtonPlace } from "./custom-id.ts";
import { type Field, form, type Submitted, textsIn } from "./form.ts";

const textInput = "text";
/** Escapes can double them. */
const maxHeadLength = 200;
const maxQuestionLength = 1_500;

export function answerForm(id: string, place: ButtonPlace, { head, question, words }: AskedInWords) {
  const { maxFiles, fileTypes } = words;
  const asked = `**${escapePlain(shorten(head, maxHeadLength))}**\n> ${escapePlain(`“${shorten(question, maxQuestionLength)}”`)}`;
  const text: Field = {
    label: "Your answer",
    component: {
      type: ComponentType.TextInput,
      custom_id: textInput,
      style: TextInputStyle.Paragraph,
      max_length: maxAnswerCharacters,
      required: maxFiles === 0,
    },
  };
  const files: Field = {
    label: maxFiles === 1 ? "A file" : `Up to ${maxFiles} files`,
    ...(fileTypes === undefined
      ? {}
      : { description: shorten(`Only ${fileTypes.join(", ")}.`, maxOptionDescriptionLength) }),
    component: {
      type: ComponentType.FileUpload,
      custom_id: "files",
      min_values: 0,
      max_values: Math.max(1, maxFiles),
      required: false,
      ...(fileTypes === undefined ? {} : { file_types: fileTypes as ("image" | `.${string}`)[] }),
    },
  };
  return form({ meaning: { type: "written" }, ...place, id }, "Answer", [
    asked,
    text,
    ...(maxFiles === 0 ? [] : [files]),
    "An answer approves nothing.",
  ]);
}

export function writtenAnswer(components: Submitted): string {
  return textsIn(components, textInput).join("").trim();
}
