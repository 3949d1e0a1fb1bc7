/** Paths of tools, and reading from them: nothing leads out of the working folder. */
export {
  atPlace,
  existingFile,
  explainFileProblem,
  fileProblem,
  openForReading,
  type Place,
  pathOf,
} from "../lib/working-folder.ts";
