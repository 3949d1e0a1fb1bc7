/** Limits of a command's network access. */

/** Per call. More would be too many to judge on one card. */
export const maxHosts = 16;
/** RFC 1035's limit for a name in text form. */
export const maxHostCharacters = 253;
export const maxQuotedCharacters = 100;
export const defaultPorts: readonly number[] = [443, 80];

/** Open connections per command. npm opens up to 15, a browser engine about 100. */
export const maxOpenConnections = 128;
/** Per command, including forwarded requests. Above it, the proxy closes. Also bounds the log. */
export const maxConnections = 20_000;
/** Per command, in both directions. Above it, the proxy closes. */
export const maxSessionBytes = 8 * 1024 ** 3;
export const byteCheckIntervalMs = 250;

export const maxHeaderBytes = 32 * 1024;
export const maxHeaders = 200;
/** From the first byte of a request, and on a new connection from its beginning, to the end of the headers. */
export const maxHeaderMs = 5_000;
export const headerCheckIntervalMs = 1_000;
export const maxKeepAliveMs = 60_000;
/** Time without a byte in either direction. A git server may work this long before it responds to a push. */
export const maxIdleMs = 5 * 60_000;

export const maxResolveMs = 15_000;
/** Each lookup occupies one of the four threads that the process has for file access and DNS. */
export const maxConcurrentLookups = 2;
export const maxConnectMs = 15_000;
export const maxHandshakeMs = 15_000;
/** From the answer to CONNECT to the end of the ClientHello. */
export const maxOpeningMs = 5_000;
/** A ClientHello with post-quantum key shares has about 2 KB. */
export const maxClientHelloBytes = 16 * 1024;

/** Time for the helper process to start, listen in the view and hand over its socket. */
export const maxListenMs = 15_000;
/** Longer than any command runs. Only limits the use of leaked certificates. */
export const certificateLifetimeMs = 30 * 24 * 60 * 60_000;
/** Clocks of different machines may differ by this much. */
export const certificateBackdateMs = 24 * 60 * 60_000;
