/** Looks people up on their platform. */
import type { Author } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";

/** With current roles. Undefined if the person has left. */
export type PersonNow = (person: Author, platform: string, conversationId: string) => Promise<Author | undefined>;

export function createPersonNow(platformNamed: (name: string) => Platform | undefined): PersonNow {
  return async (person, platform, conversationId) => {
    const lookUp = platformNamed(platform)?.lookUp;
    return lookUp === undefined ? person : await lookUp(person, conversationId);
  };
}
