/** Which tools of a server count as only reading: by its hints and their names. */
import { expect, test } from "vitest";
import { onlyReads } from "../../skills/mcp/only-reads.ts";

const reads = (name: string, annotations?: unknown) => onlyReads({ name, annotations });
const hinted = { readOnlyHint: true };

test.each([
  ...[
    "get_mail",
    "list_mails",
    "search-issues",
    "getMail",
    "read_file",
    "issue_read",
    "notion-search",
    "slack_get_channel_history",
  ],
  ...[
    "get_comment",
    "list_commits",
    "get_merge_request",
    "show_order",
    "git_status",
    "whoami",
    "lookupUser",
    "find_runs",
  ],
])("%s only reads, by its name, unless the server says otherwise", (name) => {
  expect([reads(name), reads(name, hinted)]).toEqual([true, true]);
  for (const annotations of [
    { readOnlyHint: false },
    { readOnlyHint: "yes" },
    { readOnlyHint: null },
    { destructiveHint: true },
  ])
    expect(reads(name, annotations)).toBe(false);
});

test.each([
  ...[
    "send_email",
    "sendEmail",
    "create_issue",
    "delete",
    "mail_send",
    "mark_as_read",
    "get_or_create",
    "search_and_replace",
  ],
  ...[
    "comment_on_issue",
    "post_message",
    "read_receipt_send",
    "API-patch-page",
    "execute_query",
    "merge_branch",
    "mailbox/purge",
  ],
])("%s changes something, also if the server hints the opposite about every tool", (name) => {
  expect([reads(name), reads(name, hinted)]).toEqual([false, false]);
});

test.each([
  "echo",
  "open_nodes_of",
  "resolve-library-id",
  "query",
  "pull_request_read",
  "read_and_archive",
  "日程",
  "",
])("what %s does can't be told by its name, so the server's hint decides", (name) => {
  const isClear = name === "open_nodes_of";
  expect([reads(name), reads(name, hinted), reads(name, [])]).toEqual([false, !isClear, false]);
});
