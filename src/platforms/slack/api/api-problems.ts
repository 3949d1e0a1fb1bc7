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

const placeErrors = new Set([
  "channel_is_limited_access",
  "channel_not_found",
  "channel_type_not_supported",
  "is_archived",
  "is_inactive",
  "not_in_channel",
  "restricted_action",
  "restricted_action_read_only_channel",
  "restricted_action_thread_locked",
  "thread_not_found",
  "user_not_in_channel",
]);

/** Slack's own failures: the same call may succeed a moment later. */
const passingErrors = new Set([
  "fatal_error",
  "internal_error",
  "ratelimited",
  "request_timeout",
  "service_unavailable",
]);

const advice: Record<string, string> = {
  account_inactive:
    "the app was removed from the workspace. Install it again (Install App), and set SLACK_BOT_TOKEN to the token shown there.",
  channel_not_found: "there is no such channel, or I am not in it. Invite me there with /invite.",
  invalid_auth: "the token is wrong. Copy it again from the app's page.",
  is_archived: "the channel is archived, so nobody can write in it.",
  msg_too_long: "the message is longer than Slack accepts.",
  not_in_channel: "I am not in that channel. Invite me there with /invite.",
  restricted_action: "only some people may write in that channel; an administrator decides who.",
  token_expired: "the token has expired. Turn off token rotation for the app and install it again.",
  token_revoked: "the token was revoked. Install the app again (Install App), and set the new SLACK_BOT_TOKEN.",
};

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
  return new RemoraError({
    code: `slack.${error}`,
    place: `slack ${method}`,
    message: error === "missing_scope" ? missingScopeText(data) : `${error}: ${advice[error] ?? detailOf(data)}`,
    isRetryable: passingErrors.has(error),
  });
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
  return isSlackError(thrown, ...placeErrors);
}
