/** The process that does the work of one call: src/core/child-task.ts. */
import { answerOnce } from "../../src/core/child-task-side.ts";
import { answerData } from "./answer.ts";
import type { DataRequest } from "./requests.ts";

answerOnce((request) => answerData(request as DataRequest));
