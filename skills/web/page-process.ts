/** Entry point of the isolated process that reads one page; see page.ts. */
import { answerOnce } from "../../src/plugin-sdk/isolated-entry.ts";
import { type PageRequest, readPage } from "./page.ts";

answerOnce((request) => readPage(request as PageRequest));
