/** The limits of the local chat. All are our own, because there is no service that sets any. */

export const maxPeople = 50;
export const maxNameLength = 40;
export const pageSize = 50;
export const maxThreadMessages = 500;
/** Limits one request. Attachments arrive as Base64, which makes them a third larger. */
export const maxBodyBytes = 2 * 1024 * 1024;
export const maxAttachments = 10;
/** The model gets the name of a larger image, but not its content. */
export const maxImageBytes = 1024 * 1024;
export const maxFileBytes = 20 * 1024 * 1024;
/** Every open page polls the chat through a stream, so their number is limited to keep the process responsive. */
export const maxEventStreams = 100;
