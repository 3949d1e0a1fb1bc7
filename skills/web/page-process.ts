/** The process that reads one page: see page.ts. */
import { answerOnce } from "../../src/core/child-task-side.ts";
import { type PageRequest, readPage } from "./page.ts";

answerOnce((request) => readPage(request as PageRequest));
