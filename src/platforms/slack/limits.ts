/** The numbers that Slack sets, with sources; our own are in the files that use them. Lengths are in UTF-16 units. */
import type { Rate } from "../../ports/rate-budget.ts";

/** https://docs.slack.dev/reference/block-kit/blocks */
export const maxMessageBlocks = 50;
/** All markdown blocks of a message together: https://docs.slack.dev/reference/block-kit/blocks/markdown-block */
export const maxMarkdownLength = 12_000;
/** For `text`; documented in characters, not bytes: https://docs.slack.dev/reference/methods/chat.update */
export const maxUpdateTextBytes = 4_000;
/** All rich text blocks of a message together, each with about 125 characters of its own. Measured; not documented. */
export const maxBlocksLength = 13_200;
/** https://docs.slack.dev/reference/block-kit/composition-objects/text-object */
export const maxTextObjectLength = 3_000;
/** https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const maxButtonLabelLength = 75;
/** https://docs.slack.dev/reference/block-kit/block-elements/checkboxes-element */
export const maxCheckboxes = 10;
/** Text and description, also in overflow menus: https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
export const maxOptionLength = 75;
/** https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element */
export const maxInputLength = 3_000;
/** https://docs.slack.dev/reference/views/modal-views */
export const maxViewTitleLength = 24;
/** https://docs.slack.dev/reference/methods/views.open */
export const maxViewBytes = 250_000;

/** Includes travel time: https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response */
const interactionAckMs = 3_000;
/** Leaves time for the response to reach Slack. */
export const maxAnswerMs = interactionAckMs - 700;
/** Uses of a response URL: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses */
export const maxResponses = 5;
/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const signatureLifetimeMs = 5 * 60_000;

/** Tiers 4, 3 and 2, in the entire workspace: https://docs.slack.dev/apis/web-api/rate-limits */
export const callsPerMinute = {
  append: 100,
  edit: 50,
  start: 20,
  history: 50,
  replies: 50,
  /** https://docs.slack.dev/reference/methods/assistant.threads.setStatus */
  status: 600,
} as const;

const minuteMs = 60_000;

/** Calls of all processes together, a little below Slack's limits. Other methods wait only if Slack asks for it. */
export const sharedRates: Readonly<Record<string, Rate>> = {
  /** In one channel: https://docs.slack.dev/apis/web-api/rate-limits */
  "chat.postMessage": { everyMs: 1_050, burst: 3 },
  "chat.appendStream": { everyMs: minuteMs / callsPerMinute.append, burst: callsPerMinute.append / 2 },
  "chat.update": { everyMs: minuteMs / callsPerMinute.edit, burst: callsPerMinute.edit / 2 },
  "chat.startStream": { everyMs: minuteMs / callsPerMinute.start, burst: callsPerMinute.start / 2 },
  "assistant.threads.setStatus": { everyMs: minuteMs / callsPerMinute.status, burst: callsPerMinute.status / 2 },
};

/** https://docs.slack.dev/reference/methods/assistant.threads.setStatus */
export const statusLifetimeMs = 2 * 60_000;

/** Documented in characters per call; lifetime measured: https://docs.slack.dev/reference/methods/chat.startStream */
export const maxStreamBytes = 12_000;
/** As soon as a stream has tasks. Measured; not documented. */
export const maxStreamBytesWithTasks = 10_600;
export const streamLifetimeMs = 5 * 60_000;

/** Recommended: https://docs.slack.dev/apis/web-api/pagination */
export const maxHistoryPage = 200;
/** Maximum page size of conversations.replies: https://docs.slack.dev/reference/methods/conversations.replies */
export const maxRepliesPage = 999;
/**
 * Page size of conversations.history and .replies for apps outside the Marketplace, which can call each once a minute:
 * https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
 */
export const maxLimitedHistoryPage = 15;
/** Channels and members; documented as under 1,000: https://docs.slack.dev/reference/methods/conversations.list */
export const maxListPage = 999;
/** https://docs.slack.dev/reference/methods/assistant.search.context */
export const maxContextResults = 20;
/** Messages per page: https://docs.slack.dev/reference/methods/search.messages */
export const maxSearchPage = 100;
