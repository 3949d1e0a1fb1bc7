/** Summaries of conversations for an export. A summary tells what others said later, so only current readers get it. */
import type { Author, Scope } from "../ports/message.ts";

export interface ExportedSummariesOptions {
  conversations(): Promise<readonly { id: string; scope: Scope; userIds: readonly string[] }[]>;
  /** Undefined if there is none, or if the person took no part in it. */
  summaryOf(
    conversationId: string,
    person: { platform: string; userId: string },
  ): Promise<{ path: string; text: string } | undefined>;
  /** Asked now. Undefined if the platform can't say. */
  mayRead(platform: string, conversationId: string, person: Author): Promise<boolean | undefined>;
}

export async function exportedSummaries(
  { conversations, summaryOf, mayRead }: ExportedSummariesOptions,
  platform: string,
  by: Author,
): Promise<{ path: string; text: string }[]> {
  const found: { path: string; text: string }[] = [];
  for (const { id, scope, userIds } of await conversations()) {
    if (!userIds.includes(by.id)) continue;
    const summary = await summaryOf(id, { platform, userId: by.id });
    if (summary === undefined) continue;
    const isReader = scope.startsWith("dm:") ? scope === `dm:${by.id}` : await mayRead(platform, id, by);
    if (isReader === true) found.push(summary);
  }
  return found;
}
