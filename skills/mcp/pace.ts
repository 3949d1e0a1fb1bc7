/** Limits how fast a server's output is read so that no server can keep this process busy. */

/** Limits per second. */
const maxBytes = 32 * 1024 * 1024;
const maxMessages = 2_000;

/** Call with the amount just read. Returns the milliseconds to wait before reading more. */
export type Pace = (bytes: number, messages: number) => number;

export function createPace(now: () => number = () => performance.now()): Pace {
  let began = now();
  let bytes = 0;
  let messages = 0;
  return (readBytes, readMessages) => {
    const since = now() - began;
    if (since >= 1_000) {
      began = now();
      bytes = 0;
      messages = 0;
    }
    bytes += readBytes;
    messages += readMessages;
    return bytes <= maxBytes && messages <= maxMessages ? 0 : Math.max(1, 1_000 - (now() - began));
  };
}
