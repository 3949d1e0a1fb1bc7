/** What the parts of a report are built with. */
import type { ApprovalRecord } from "../ports/approval.ts";
import type { ApprovalState } from "../ports/card.ts";
import type { ToolCall } from "../ports/tool.ts";

/** Masks configured secrets and escapes what could mislead a reader. */
export interface ReportTexts {
  /** One line. */
  line(text: string): string;
  /** Keeps line breaks. */
  lines(text: string): string;
  /** The whole call on several lines. */
  call(call: ToolCall): string;
  /** The call in plain words, if its skill says how. */
  headline?(call: ToolCall, conversationId: string): string | undefined;
  /** The call in the past tense, such as ``Ran `npm install` ``, if its skill says how. */
  done?(call: ToolCall, conversationId: string): string | undefined;
  /** The tool can change something that other people see. */
  actsOutside?(tool: string, conversationId: string): boolean;
}

export interface ApprovalRow {
  state: ApprovalState;
  body: ApprovalRecord;
}
