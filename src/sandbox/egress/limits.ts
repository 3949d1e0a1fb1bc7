/** Limits of a command's way out. Sizes are in bytes, times in milliseconds. */

/** Hosts that one call may name: more than a person can judge on a card is no approval. */
export const maxHosts = 16;
/** RFC 1035: a name in its text form. */
export const maxHostCharacters = 253;
/** Both ports of the web; what `github.com` without a port means. */
export const defaultPorts: readonly number[] = [443, 80];

/** Connections of one command at the same time. npm opens up to 15, a browser engine some 100. */
export const maxOpenConnections = 128;
/** Connections and forwarded requests of one command in all; then its proxy closes. Bounds the log as well. */
export const maxConnections = 20_000;
/** Bytes of one command in both directions; then its proxy closes. */
export const maxSessionBytes = 8 * 1024 ** 3;
export const byteCheckIntervalMs = 250;

/** Request line and headers. */
export const maxHeaderBytes = 32 * 1024;
export const maxHeaders = 200;
/** From the first byte of a request to the end of its headers. */
export const maxHeaderMs = 15_000;
export const headerCheckIntervalMs = 2_000;
/** Between two requests on one connection. */
export const maxKeepAliveMs = 60_000;
/** Without a byte in either direction. A git server may work this long before it answers a push. */
export const maxIdleMs = 5 * 60_000;

/** For the answer of the system's resolver. */
export const maxResolveMs = 15_000;
/** Look-ups at the same time. Each takes one of the four threads that the whole process uses for files and names. */
export const maxConcurrentLookups = 2;
export const maxConnectMs = 15_000;
/** For TLS on either side. */
export const maxHandshakeMs = 15_000;
/** A ClientHello with post-quantum key shares has about 2 KB. */
export const maxClientHelloBytes = 16 * 1024;

/** For the listening socket of a view: a Node process starts, listens and hands over. */
export const maxListenMs = 15_000;
/** Longer than any command; it bounds nothing but a leak. */
export const certificateLifetimeMs = 30 * 24 * 60 * 60_000;
/** Clocks of machines differ. */
export const certificateBackdateMs = 24 * 60 * 60_000;
