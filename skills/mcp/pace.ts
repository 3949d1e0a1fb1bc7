/** How fast a server's output is read: what comes faster waits, so that no server keeps this process from its other work. */

/** In one second. */
const mostBytes = 32 * 1024 * 1024;
const mostMessages = 2_000;

/** Told what was read; says for how many milliseconds nothing more should be. */
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
    return bytes <= mostBytes && messages <= mostMessages ? 0 : Math.max(1, 1_000 - (now() - began));
  };
}
