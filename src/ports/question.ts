/** A question that a tool asks the person it works for: one click answers it. Not an approval: nothing runs because of it alone. */
import type { ReplyTarget } from "./platform.ts";

export interface QuestionCard {
  /** 128 random bits, base64url; locates the question and gives no authority. */
  id: string;
  target: ReplyTarget;
  /** The tool that asks; plain text. */
  tool: string;
  /** Plain text, at most 1,000 characters, already escaped for invisible characters. */
  question: string;
  /** 1 to 5 labels of at most 75 characters, plain text. */
  options: string[];
  requesterName: string;
  /** Once it is answered or given up: in words, and without buttons. */
  outcome?: string;
}
