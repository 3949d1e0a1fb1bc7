/** The limits of the local chat, which has no service that would set them. */

export const maxPeople = 50;
export const maxNameLength = 40;
export const pageSize = 50;
export const maxThreadMessages = 500;
/** Of one request. Attachments arrive as Base64, which makes them a third larger. */
export const maxBodyBytes = 2 * 1024 * 1024;
export const maxAttachments = 10;
/** The model gets the name of a larger image, not its content. */
export const maxImageBytes = 1024 * 1024;
/** Of a file that a tool attaches. */
export const maxFileBytes = 20 * 1024 * 1024;
/** All pages share one token, and every stream polls the chat. The process must stay responsive. */
export const maxEventStreams = 100;
