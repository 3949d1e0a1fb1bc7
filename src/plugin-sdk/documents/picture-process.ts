/** Entry point of the isolated process that scales one picture. No other isolated process loads native code. */
import { answerOnce } from "../isolated-entry.ts";
import { type PictureRequest, scale } from "./picture.ts";

answerOnce((request) => scale(request as PictureRequest));
