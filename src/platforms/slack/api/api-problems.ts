/** Turns Slack's refusals into errors that say what to do, under the permanent code `slack.<error>`. */
import { webApi } from "@slack/bolt";
import { messageOf, RemoraError, remoraErrorIn } from "../../../lib/errors.ts";

const tokenErrors = new Set([
  "account_inactive",
  "invalid_auth",
  "not_allowed_token_type",
  "not_authed",
  "org_login_required",
  "team_access_not_granted",
  "token_expired",
  "token_revoked",
]);

/** Only the thread is closed, so the channel may still take it. Why, as people read it. */
const threadErrors: Record<string, string> = {
  cannot_reply_to_message: "that message takes no replies",
  invalid_thread_ts: "the thread is gone",
  restricted_action_non_threadable_channel: "threads are off there",
  restricted_action_thread_locked: "the thread is locked",
  thread_not_found: "the thread is gone",
};

/** Nothing can be written there. Why, as people read it. An error that begins with `restricted_action` is one of these. */
const placeErrors: Record<string, string> = {
  ...threadErrors,
  app_access_restricted: "an administrator has restricted me there",
  channel_is_limited_access: "I am not let in there",
  channel_not_found: "I am not in it",
  channel_type_not_supported: "I can't write in that kind of channel",
  ekm_access_denied: "an administrator has turned off messages there",
  is_archived: "it is archived",
  is_inactive: "it is archived",
  messages_tab_disabled: "direct messages with me are turned off in the app's settings",
  not_in_channel: "I am not in it",
  posting_to_channel_denied: "I may not write there",
  restricted_action: "only some people may write there",
  restricted_action_read_only_channel: "nobody may write there",
  restricted_action_thread_only_channel: "only replies in threads are allowed there",
  user_not_in_channel: "the person is not in it",
};

/** Slack has certainly not done it, and may soon. */
const limitErrors: Record<string, string> = {
  message_limit_exceeded: "this workspace sends too many messages at the moment, so Slack takes no more of them.",
  rate_limited: "I have sent too many messages, so Slack takes no more of them for a moment.",
  ratelimited: "I have asked Slack too often, so it makes me wait for a moment.",
};

/** Slack's own failures: the same call may succeed a moment later. */
const passingErrors = new Set([
  ...Object.keys(limitErrors),
  "external_channel_migrating",
  "fatal_error",
  "internal_error",
  "messaging_processing_failed",
  "request_timeout",
  "service_unavailable",
  "team_added_to_org",
]);

/** Slack refuses what the message says or how it is built, so the same message is refused everywhere. */
const contentErrors = new Set([
  "attachment_payload_limit_exceeded",
  "block_mismatch",
  "invalid_attachments",
  "invalid_blocks",
  "invalid_blocks_format",
  "markdown_text_conflict",
  "msg_blocks_too_long",
  "msg_blocks_too_many",
  "msg_too_long",
  "too_many_attachments",
  "too_many_contact_cards",
]);

const advice: Record<string, string> = {
  account_inactive:
    "the app was removed from the workspace. Install it again (Install App), and set SLACK_BOT_TOKEN to the token shown there.",
  channel_not_found: "there is no such channel, or I am not in it. Invite me there with /invite.",
  file_uploads_disabled: "an administrator has turned off files in this workspace.",
  file_uploads_except_images_disabled: "an administrator allows only pictures as files in this workspace.",
  invalid_auth: "the token is wrong. Copy it again from the app's page.",
  is_archived: "the channel is archived, so nobody can write in it.",
  msg_too_long: "the message is longer than Slack accepts.",
  not_in_channel: "I am not in that channel. Invite me there with /invite.",
  restricted_action: "only some people may write in that channel; an administrator decides who.",
  storage_limit_reached: "this workspace has no room for more files.",
  token_expired: "the token has expired. Turn off token rotation for the app and install it again.",
  token_revoked: "the token was revoked. Install the app again (Install App), and set the new SLACK_BOT_TOKEN.",
  ...limitErrors,
};
/** About one message, which parts that know it deal with. */
const messageErrors = new Set([
  "cant_delete_message",
  "cant_update_message",
  "compliance_exports_prevent_deletion",
  "edit_window_closed",
  "message_not_found",
  "message_not_in_streaming_state",
  "message_not_owned_by_app",
  "missing_recipient_team_id",
  "missing_recipient_user_id",
  "missing_scope",
  "stopped_by_user",
  "streaming_state_conflict",
]);
const notNow = "Slack can't do that at the moment. Try again in a while.";
const noReason = "Slack refused it and gave no reason that I know. Whoever runs me finds what it said in the log.";

export function problemOf(method: string, thrown: unknown): RemoraError {
  const known = remoraErrorIn(thrown);
  if (known !== undefined) return known;
  const place = `slack ${method}`;
  if (thrown instanceof webApi.WebAPIPlatformError) return refusalOf(method, thrown.data);
  if (thrown instanceof webApi.WebAPIRateLimitedError) return waitAsked(method, thrown.retryAfter * 1000, thrown);
  if (thrown instanceof webApi.WebAPIHTTPError) {
    const message = `Slack answered with HTTP ${thrown.statusCode}. If this continues, see https://slack-status.com.`;
    const isRetryable = thrown.statusCode >= 500;
    return new RemoraError({ code: "slack.http", place, message, isRetryable, cause: thrown });
  }
  const message = `Can't reach Slack: ${messageOf(thrown)}. Check the network, and SLACK_API_URL if you set it.`;
  return new RemoraError({ code: "slack.unreachable", place, message, isRetryable: true, cause: thrown });
}

export function waitAsked(method: string, retryAfterMs: number, cause?: unknown): RemoraError {
  const message = `Slack's rate limit was reached. Wait ${Math.ceil(retryAfterMs / 1000)} s before calling this method again.`;
  const place = `slack ${method}`;
  return new RemoraError({ code: "slack.ratelimited", place, message, isRetryable: true, retryAfterMs, cause });
}

function refusalOf(method: string, data: { error: string; needed?: unknown; provided?: unknown }): RemoraError {
  const { error } = data;
  const known = advice[error] ?? sentenceOf(method, error);
  const isPassing = passingErrors.has(error);
  const isMissingScope = error === "missing_scope";
  return new RemoraError({
    code: `slack.${error}`,
    place: `slack ${method}`,
    message: isMissingScope ? missingScopeText(data) : `${error}: ${known ?? detailOf(data)}`,
    plain: isMissingScope
      ? `the app lacks the permission ${String(data.needed ?? "for that")}. Whoever runs me can add it.`
      : (known ?? (isPassing ? notNow : noReason)),
    isRetryable: isPassing,
  });
}

function sentenceOf(method: string, error: string): string | undefined {
  const why = placeErrors[error];
  const deed = method.startsWith("conversations.") ? "read" : "write in";
  return why === undefined ? undefined : `I can't ${deed} that channel: ${why}.`;
}

function missingScopeText({ needed }: { needed?: unknown }): string {
  return `missing_scope: the app lacks the scope ${String(needed)}. Add it under OAuth & Permissions → Scopes → Bot Token Scopes, or paste slack/manifest.yaml under App Manifest; then install the app again.`;
}

function detailOf(data: object): string {
  const metadata = "response_metadata" in data ? data.response_metadata : undefined;
  const messages = typeof metadata === "object" && metadata !== null && "messages" in metadata ? metadata.messages : [];
  return Array.isArray(messages) && messages.length > 0 ? messages.join(" ") : "Slack refused the call.";
}

export function isSlackError(thrown: unknown, ...errors: string[]): boolean {
  return thrown instanceof RemoraError && errors.some((error) => thrown.code === `slack.${error}`);
}

export function isTokenProblem(thrown: unknown): boolean {
  return isSlackError(thrown, ...tokenErrors);
}

/** Slack accepts nothing at the moment, also because the token is refused: an administrator may put that right. */
export function isAway(thrown: unknown): boolean {
  const isPassing = thrown instanceof RemoraError && thrown.code.startsWith("slack.") && thrown.isRetryable;
  return isPassing || isTokenProblem(thrown);
}

export function isPlaceProblem(thrown: unknown): boolean {
  const error = refusedWith(thrown) ?? "";
  return error in placeErrors || error.startsWith("restricted_action");
}

/** Only the thread is closed; its channel may be open. */
export function isThreadProblem(thrown: unknown): boolean {
  return (refusedWith(thrown) ?? "") in threadErrors;
}

export function isContentProblem(thrown: unknown): boolean {
  return contentErrors.has(refusedWith(thrown) ?? "");
}

/** Slack has certainly not done it, so the call can be made again even if doing it twice would do harm. */
export function isLimit(thrown: unknown): boolean {
  return (
    thrown instanceof RemoraError && (thrown.retryAfterMs !== undefined || (refusedWith(thrown) ?? "") in limitErrors)
  );
}

/** Slack answered, and refuses this for good, whatever its reason. The same call would be refused again. */
export function isRefusal(thrown: unknown): thrown is RemoraError {
  return refusedWith(thrown) !== undefined && !isAway(thrown);
}

/** A refusal that this file does not name: it may be new. */
export function isUnknownRefusal(thrown: unknown): boolean {
  const error = refusedWith(thrown);
  return isRefusal(thrown) && !isPlaceProblem(thrown) && !isContentProblem(thrown) && !messageErrors.has(error ?? "");
}

/** Why nothing can be written in a place, as people read it: the end of "I can't write in #x: ". */
export function whyNotThere(thrown: unknown): string {
  const error = refusedWith(thrown) ?? "";
  if (placeErrors[error] !== undefined) return placeErrors[error];
  return error.startsWith("restricted_action") ? "an administrator has restricted it" : "Slack doesn't let me";
}

/** What people read of a failure. It never has Slack's own name for it, which is in the log. */
export function plainOf(thrown: unknown): string {
  return thrown instanceof RemoraError ? thrown.plain : messageOf(thrown);
}

function refusedWith(thrown: unknown): string | undefined {
  return thrown instanceof RemoraError && thrown.code.startsWith("slack.") ? thrown.code.slice(6) : undefined;
}
