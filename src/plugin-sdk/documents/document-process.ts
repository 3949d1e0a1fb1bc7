/** Entry point of the isolated process that reads one document. It can't load native code. */
import { answerOnce } from "../isolated-entry.ts";
import { answerDocument } from "./answer.ts";
import type { DocumentRequest } from "./documents.ts";

// Ignore promises that PDF.js rejects when a damaged page fails. The text read so far is still valid.
process.on("unhandledRejection", () => {});
answerOnce((request) => answerDocument(request as DocumentRequest));
