/**
 * Every number that Slack sets, with its source. Our own limits are in the files that use them.
 * Lengths are in characters (UTF-16 units).
 */

/** Blocks of one message: https://docs.slack.dev/reference/block-kit/blocks */
export const maxMessageBlocks = 50;
/** All markdown blocks of a message together: https://docs.slack.dev/reference/block-kit/blocks/markdown-block */
export const maxMarkdownLength = 12_000;
/** `text` of chat.update, in bytes; other methods accept more: https://docs.slack.dev/reference/methods/chat.update */
export const maxUpdateTextBytes = 4_000;
/**
 * Text of all rich text blocks of a message together. Each block itself counts about 125 more. Measured; not documented.
 */
export const maxBlocksLength = 13_200;
/** https://docs.slack.dev/reference/block-kit/composition-objects/text-object */
export const maxTextObjectLength = 3_000;
/** https://docs.slack.dev/reference/block-kit/block-elements/button-element */
export const maxButtonLabelLength = 75;
/** https://docs.slack.dev/reference/block-kit/block-elements/checkboxes-element */
export const maxCheckboxes = 10;
/** The text and the description of an option: https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
export const maxOptionLength = 75;
/** https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element */
export const maxInputLength = 3_000;
/** https://docs.slack.dev/reference/views/modal-views */
export const maxViewTitleLength = 24;
/** https://docs.slack.dev/reference/methods/views.open */
export const maxViewBytes = 250_000;

/**
 * Includes the time that request and answer travel:
 * https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response
 */
const interactionAckMs = 3_000;
/** Leaves time for the answer to travel. */
export const maxAnswerMs = interactionAckMs - 700;
/**
 * How often a response URL can be used: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
 */
export const maxResponses = 5;
/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const signatureLifetimeMs = 5 * 60_000;

/** Calls per minute in the entire workspace, by tier: https://docs.slack.dev/apis/web-api/rate-limits */
export const callsPerMinute = {
  /** chat.appendStream, tier 4. */
  append: 100,
  /** chat.update, tier 3. */
  edit: 50,
  /** chat.startStream, tier 2. */
  start: 20,
  /** assistant.threads.setStatus: https://docs.slack.dev/reference/methods/assistant.threads.setStatus */
  status: 600,
} as const;

/** https://docs.slack.dev/reference/methods/chat.startStream; the lifetime was measured. */
export const maxStreamBytes = 12_000;
export const streamLifetimeMs = 5 * 60_000;

/** Recommended for conversations.history and conversations.replies: https://docs.slack.dev/apis/web-api/pagination */
export const maxHistoryPage = 200;
/** conversations.list and conversations.members: https://docs.slack.dev/reference/methods/conversations.list */
export const maxListPage = 1_000;
