/** Why a document can't be read, as a sentence for people. */
import { RemoraError } from "../../lib/errors.ts";

export class DocumentProblem extends RemoraError {
  readonly sentence: string;

  constructor(sentence: string) {
    super({ code: "documents.unreadable", place: "file", message: sentence });
    this.sentence = sentence;
  }
}
