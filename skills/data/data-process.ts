/** Entry point of the isolated process for one call; see src/plugin-sdk/isolated-process.ts. */
import { answerOnce } from "../../src/plugin-sdk/isolated-entry.ts";
import { answerData } from "./answer.ts";
import type { DataRequest } from "./requests.ts";

answerOnce((request) => answerData(request as DataRequest));
