/** The limits of the local chat, which has no service that would set limits. */

export const maxPeople = 50;
export const maxNameLength = 40;
export const pageSize = 50;
export const maxThreadMessages = 500;
/** Size of one request. Attachments arrive as Base64, which makes them a third larger. */
export const maxBodyBytes = 2 * 1024 * 1024;
export const maxAttachments = 10;
/** For a larger image, the model gets the name but not the content. */
export const maxImageBytes = 1024 * 1024;
/** Size of a file that a tool attaches. */
export const maxFileBytes = 20 * 1024 * 1024;
/** Every open page has a stream that polls the chat, so their number is limited to keep the process responsive. */
export const maxEventStreams = 100;
