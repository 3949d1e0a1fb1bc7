export { type MarkedProgram, markProgram } from "../lib/marked-programs.ts";
