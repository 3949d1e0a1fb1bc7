/** Paths of tools, and reading files. No path leads out of the working folder. */
export {
  atPlace,
  existingFile,
  explainFileProblem,
  fileProblem,
  openForReading,
  type Place,
  pathOf,
} from "../lib/working-folder.ts";
