/** Resolves paths in tool arguments and reads files. No path can lead out of the working folder. */
export {
  atPlace,
  existingFile,
  explainFileProblem,
  fileProblem,
  leadsOut,
  openForReading,
  type Place,
  pathOf,
} from "../lib/working-folder.ts";
