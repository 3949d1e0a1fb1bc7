/** `/remora NAME REST`: the commands that people type on every platform. */
import type { CommandReceipt, InboundCommand } from "./message.ts";

export interface CommandHandler {
  /** `new`, or with what follows it: `ask TEXT`. */
  usage: string;
  description: string;
  /** Returns standard Markdown, shown to the person alone. */
  run(command: InboundCommand): Promise<string>;
}

export interface Commands {
  handle(command: InboundCommand): Promise<CommandReceipt>;
  list(): { usage: string; description: string }[];
}
