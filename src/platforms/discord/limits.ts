/** The numbers that Discord sets, with sources; our own are in the files that use them. Lengths are in UTF-16 units. */
import type { Rate } from "../../ports/rate-budget.ts";

/** https://discord.com/developers/docs/resources/message#create-message */
export const maxMessageLength = 2_000;
export const maxNonceLength = 25;
/** `MessageCreateRequest` in https://github.com/discord/discord-api-spec */
export const maxAttachments = 10;
/** One request, including all its files: https://discord.com/developers/docs/resources/message#create-message */
export const maxRequestBytes = 25 * 1024 * 1024;
/** One file; boosted servers accept more: https://discord.com/developers/docs/reference#uploading-files */
export const maxAttachmentBytes = 10 * 1024 * 1024;

/** All text of a message that consists of components: https://discord.com/developers/docs/components/reference#text-display */
export const maxLayoutTextLength = 4_000;
/** https://discord.com/developers/docs/components/reference#action-row */
export const maxButtonsPerRow = 5;
/** https://discord.com/developers/docs/components/reference#button */
export const maxButtonLabelLength = 80;
/** https://discord.com/developers/docs/components/reference#string-select */
export const maxOptions = 25;
/** https://docs.discord.com/developers/components/reference#checkbox-group */
export const maxCheckboxes = 10;
export const maxOptionLabelLength = 100;
export const maxOptionDescriptionLength = 100;
/** https://discord.com/developers/docs/components/reference#text-input */
export const maxTextInputLength = 4_000;
/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal */
export const maxModalComponents = 5;

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-callback */
export const interactionAckMs = 3_000;
/** https://discord.com/developers/docs/interactions/application-commands#application-command-object */
export const maxSubcommands = 25;
export const maxCommandDescriptionLength = 100;
export const commandNamePattern = /^[-_\p{Ll}\p{N}]{1,32}$/u;

/** https://discord.com/developers/docs/resources/message#get-channel-messages */
export const maxHistoryPage = 100;
/** https://docs.discord.com/developers/resources/message#search-guild-messages */
export const maxSearchResults = 25;
export const maxSearchChannels = 500;
export const maxSearchWords = 1_024;
/** https://discord.com/developers/docs/resources/channel#trigger-typing-indicator */
export const typingShownMs = 10_000;
/** Edits in one channel, undocumented; from the headers: https://discord.com/developers/docs/topics/rate-limits */
export const editsPerWindow = 5;
export const editWindowMs = 5_000;
/** Larger bots can ask for more: https://discord.com/developers/docs/topics/rate-limits#global-rate-limit */
export const globalRequestsPerSecond = 50;
/** The same for all processes together: no second has more than 50, wherever it begins. */
export const sharedRate: Rate = { everyMs: 25, burst: 10 };
/** The first second of 2015: https://discord.com/developers/docs/reference#snowflakes */
export const snowflakeEpochMs = 1_420_070_400_000;
/** Until the next identify of the same group: https://discord.com/developers/docs/events/gateway#sharding-max-concurrency */
export const identifyWindowMs = 5_000;
