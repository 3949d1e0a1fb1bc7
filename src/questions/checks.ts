/** What a plugin may ask, and what counts as an answer to it. */
import { RemoraError } from "../lib/errors.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import {
  type AnswerInWords,
  extensionsOf,
  maxAnswerCharacters,
  maxAnswerFiles,
  type QuestionRecord,
  type QuestionRequest,
  type WordsForm,
} from "../ports/question.ts";

const maxQuestionCharacters = 1_000;
const maxOptionCharacters = 75;
const maxOptions = 5;
const maxFileTypes = 10;
const fileType = /^(?:image|video|audio|\.[a-z0-9_-]{1,20})$/;
const maxShownName = 80;
/** Nothing is seen of these, or they are drawn over what is around them. */
const unseen = /[\p{Default_Ignorable_Code_Point}\u2800]+|(?<=\p{M}{2})\p{M}+/gu;

export function validated(
  { target, jobId, number, requester, tool, skill, question, answers }: QuestionRequest,
  redact: (text: string) => string,
): QuestionRecord {
  // On one line, so that nothing in it can look like a line of a card. Its quotes must not end those around it.
  const clean = (text: string, longest: number) =>
    oneLine(redact(text).replace(unseen, ""), longest).replace(/[“”„‟]/g, '"');
  const options = isForm(answers) ? [] : answers;
  const shown = {
    question: clean(question, maxQuestionCharacters),
    options: options.map((option) => clean(option, maxOptionCharacters)),
  };
  const problem =
    !isForm(answers) && (options.length < 1 || options.length > maxOptions)
      ? `needs 1 to ${maxOptions} options and was given ${options.length}`
      : shown.question === ""
        ? "has no text"
        : question.length > maxQuestionCharacters
          ? `has ${question.length} characters, and at most ${maxQuestionCharacters} are allowed`
          : shown.options.includes("") || options.some((option) => option.length > maxOptionCharacters)
            ? `has an option that is empty or longer than ${maxOptionCharacters} characters`
            : isForm(answers)
              ? formProblem(answers ?? {})
              : undefined;
  if (problem !== undefined)
    throw new RemoraError({ code: "question.invalid", place: `a question of ${tool}`, message: problem });
  const words = isForm(answers) ? { words: formOf(answers) } : {};
  return { target, jobId, number, requester, tool, skill, ...shown, ...words };
}

function isForm(answers: QuestionRequest["answers"]): answers is WordsForm {
  return !Array.isArray(answers);
}

/** A plugin in JavaScript can pass anything. */
function formProblem({ maxFiles = -1, fileTypes = [] }: Partial<WordsForm>): string | undefined {
  if (!Number.isInteger(maxFiles) || maxFiles < 0 || maxFiles > maxAnswerFiles)
    return `needs maxFiles from 0 to ${maxAnswerFiles}`;
  const isTyped = Array.isArray(fileTypes) && fileTypes.length <= maxFileTypes && fileTypes.every(isFileType);
  return isTyped
    ? undefined
    : `takes at most ${maxFileTypes} fileTypes: image, video, audio, or extensions such as .pdf`;
}

function isFileType(type: unknown): boolean {
  return typeof type === "string" && fileType.test(type.toLowerCase());
}

function formOf({ maxFiles, fileTypes }: WordsForm): WordsForm {
  if (fileTypes === undefined || fileTypes.length === 0) return { maxFiles };
  return { maxFiles, fileTypes: [...new Set(fileTypes.map((type) => type.toLowerCase()))] };
}

/** Why this is no answer, as a sentence for the person. Services check kinds for convenience only, by the ends of names. */
export function answerProblem(
  { options, words }: QuestionRecord,
  option: number | undefined,
  said: AnswerInWords | undefined,
): string | undefined {
  if (words === undefined) return options[option ?? -1] === undefined ? "There is no such option." : undefined;
  if (said === undefined) return "There is no such option.";
  const { text, attachments } = said;
  const mayHaveFiles = words.maxFiles === 0 ? "" : ", or give a file";
  if (text.trim() === "" && attachments.length === 0) return `The answer is empty. Write something${mayHaveFiles}.`;
  if (text.length > maxAnswerCharacters) return `The answer can have at most ${maxAnswerCharacters} characters.`;
  if (attachments.length > words.maxFiles)
    return words.maxFiles === 0 ? "This question takes no files." : `At most ${words.maxFiles} files can be given.`;
  const extensions = extensionsOf(words);
  const wrong = attachments.find(({ name }) => extensions?.every((end) => !name.toLowerCase().endsWith(end)));
  if (wrong === undefined) return undefined;
  return `${oneLine(wrong.name, maxShownName)} is of another kind than was asked for: ${words.fileTypes?.join(", ")}.`;
}
