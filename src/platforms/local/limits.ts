/** The limits of the local chat. All are our own, because there is no service that sets any. */

export const maxPeople = 50;
export const maxNameLength = 40;
export const maxChannels = 200;
export const maxChannelNameLength = 40;
/** Percent-encoded, because a channel's folder in memory has the encoded name. */
export const maxChannelNameBytes = 200;
export const pageSize = 50;
export const maxSearchLength = 200;
export const maxSearchWords = 10;
export const searchPageSize = 30;
/** A search stops after this many messages and offers to go on with older ones. */
export const maxSearchedMessages = 20_000;
/** Waiting cards that the page counts and links to. */
export const maxWaitingCards = 100;
export const maxThreadMessages = 500;
/** Size of a request other than an upload. */
export const maxBodyBytes = 2 * 1024 * 1024;
export const maxAttachments = 20;
/** Uploads that no message uses yet. The oldest are removed first. */
export const maxWaitingUploads = 100;
export const uploadLifetimeMs = 86_400_000;
/** Size of a file that a tool attaches. */
export const maxFileBytes = 20 * 1024 * 1024;
/** Each open page holds a stream that polls the chat store, so the number of streams is limited. */
export const maxEventStreams = 100;
