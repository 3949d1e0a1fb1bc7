/** Follows Slack's cursors through the pages of a list. */
import { z } from "zod";
import type { SlackApi } from "./api.ts";

const cursorSchema = z.object({ response_metadata: z.object({ next_cursor: z.string().optional() }).optional() });

export async function* pagesOf<Page>(
  api: SlackApi,
  method: string,
  args: Record<string, unknown>,
  schema: z.ZodType<Page>,
  maxPages: number,
) {
  let cursor = "";
  for (let count = 0; count < maxPages; count++) {
    const page = await api.call(method, cursor === "" ? args : { ...args, cursor }, schema.and(cursorSchema));
    yield page;
    cursor = page.response_metadata?.next_cursor ?? "";
    if (cursor === "") return;
  }
}
