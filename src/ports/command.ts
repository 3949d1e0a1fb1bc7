import type { CommandReceipt, InboundCommand } from "./message.ts";

export interface CommandHandler {
  usage: string;
  description: string;
  /** Resolves to standard Markdown that only this person sees. */
  run(command: InboundCommand): Promise<string>;
}

export interface Commands {
  handle(command: InboundCommand): Promise<CommandReceipt>;
  list(): { usage: string; description: string }[];
}
