/** The people of a Slack workspace, owners and administrators first. */

import { z } from "zod";
import { messageOf } from "../lib/errors.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { PeopleList } from "./services.ts";

const maxPages = 5;
const pageSize = 200;
const timeoutMs = 15_000;
const maxNameCharacters = 60;
const maxProblemCharacters = 120;

const failureSchema = z.object({ ok: z.literal(false), error: z.string() });
const pageSchema = z.object({
  ok: z.literal(true),
  members: z.array(
    z.object({
      id: z.string(),
      name: z.string().default(""),
      deleted: z.boolean().default(false),
      is_bot: z.boolean().default(false),
      is_owner: z.boolean().default(false),
      is_admin: z.boolean().default(false),
      real_name: z.string().nullish(),
    }),
  ),
  response_metadata: z.object({ next_cursor: z.string().default("") }).prefault({}),
});

/** Resolves to those that it could read, and to why not all; never rejects. */
export async function listSlackPeople(token: string, apiUrl = "https://slack.com/api/"): Promise<PeopleList> {
  const found: z.infer<typeof pageSchema>["members"] = [];
  let problem: string | undefined;
  try {
    for (let [page, cursor] = [0, ""]; page < maxPages && (page === 0 || cursor !== ""); page++) {
      const response = await fetchDirectly(new URL("users.list", apiUrl), {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: new URLSearchParams({ limit: String(pageSize), ...(cursor === "" ? {} : { cursor }) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const body: unknown = await response.json();
      const failed = failureSchema.safeParse(body);
      if (failed.success) throw new Error(failed.data.error);
      const { members, response_metadata: next } = pageSchema.parse(body);
      found.push(...members);
      cursor = next.next_cursor;
    }
  } catch (thrown) {
    problem =
      thrown instanceof z.ZodError ? "an answer that I can't read" : oneLine(messageOf(thrown), maxProblemCharacters);
  }
  const rank = ({ is_owner: isOwner, is_admin: isAdmin }: (typeof found)[number]) => (isOwner ? 0 : isAdmin ? 1 : 2);
  const people = found
    .filter(({ id, deleted, is_bot: isBot }) => !deleted && !isBot && id !== "USLACKBOT")
    .sort((one, other) => rank(one) - rank(other))
    .map((person) => ({
      id: `slack:${person.id}`,
      name: oneLine(person.real_name || person.name || person.id, maxNameCharacters),
      hint: ["owner of the workspace", "administrator", person.name][rank(person)] ?? "",
    }));
  return { people, problem };
}
