/** What the local chat needs from the rest of the agent. */
import type { Log } from "../../lib/log.ts";
import type { Author } from "../../ports/message.ts";

export interface LocalPlatformOptions {
  dataFile: string;
  commands(): { usage: string; description: string }[];
  /** True if this person's answer to the card would count now. */
  mayAnswer(cardId: string, by: Author): Promise<boolean>;
  maxFileBytes: number;
  log: Log;
}
