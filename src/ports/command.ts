/** `/remora NAME REST`: the commands that people type on every platform. */
import type { CommandReceipt, InboundCommand } from "./message.ts";

export interface CommandHandler {
  /** The name with its arguments, such as `new` or `ask TEXT`. */
  usage: string;
  description: string;
  /** Resolves to standard Markdown that only the person sees. */
  run(command: InboundCommand): Promise<string>;
}

export interface Commands {
  handle(command: InboundCommand): Promise<CommandReceipt>;
  list(): { usage: string; description: string }[];
}
