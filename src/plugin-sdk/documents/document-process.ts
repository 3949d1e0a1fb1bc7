/** Entry point of the isolated process that reads one document. It can't load native code. */
import { answerOnce } from "../isolated-entry.ts";
import { answerDocument } from "./answer.ts";
import type { DocumentRequest } from "./documents.ts";

// PDF.js leaves promises behind when a damaged page fails. What it has read is still the answer.
process.on("unhandledRejection", () => {});
answerOnce((request) => answerDocument(request as DocumentRequest));
