/** Limits of transcription. */

/** https://platform.openai.com/docs/guides/speech-to-text: larger files are refused. Local servers mostly copy the limit. */
export const maxUploadBytes = 25 * 1024 * 1024;
/** Time limit for one attempt. A local server without a GPU may need a minute for each minute of audio. */
export const maxAttemptMs = 180_000;
/** Retries if the server is busy, fails or drops the connection. The client library chooses the pauses. */
export const maxRetries = 2;
/** About an hour of speech. */
export const maxTranscriptCharacters = 60_000;
