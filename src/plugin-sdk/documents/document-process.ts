/** Entry point of the isolated process that reads one document. It can't load native code. */
import { answerOnce } from "../isolated-entry.ts";
import { answerDocument } from "./answer.ts";
import type { DocumentRequest } from "./documents.ts";

answerOnce((request) => answerDocument(request as DocumentRequest));
