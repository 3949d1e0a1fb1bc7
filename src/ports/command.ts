import type { CommandReceipt, InboundCommand } from "./message.ts";

export type CommandAnswer = string | Omit<CommandReceipt, "isPrivate">;

export interface CommandHandler<Answer extends CommandAnswer = string> {
  usage: string;
  description: string;
  /** Resolves to standard Markdown that only this person sees. A file is for what is too long to read in chat. */
  run(command: InboundCommand): Promise<Answer>;
}

export interface Commands {
  handle(command: InboundCommand): Promise<CommandReceipt>;
  list(): { usage: string; description: string }[];
}
