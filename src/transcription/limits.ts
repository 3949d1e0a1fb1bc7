/** Limits of transcription. */

/** https://platform.openai.com/docs/guides/speech-to-text: larger files are refused. Local servers mostly copy the limit. */
export const maxUploadBytes = 25 * 1024 * 1024;
/** One attempt. A local server without a GPU may need a minute for each minute of sound. */
export const maxAttemptMs = 180_000;
/** Retries after a busy server, a failure of the server or a broken connection, with the pauses of the client library. */
export const maxRetries = 2;
/** About an hour of speech. */
export const maxTranscriptCharacters = 60_000;
