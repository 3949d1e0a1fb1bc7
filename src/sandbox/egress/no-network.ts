/** Recognizes commands that failed without network access so that the model asks for access instead of guessing. */

export const noNetworkHint =
  'This command has no network access. If it needs a host, call shell_exec again with network: ["host"], naming each host. A person will be asked.';

/** Programs print the failure at the end of their output. */
const maxTailCharacters = 20_000;

const failures = [
  // curl, git, cargo, ssh, scp, even with a bad proxy
  /could not resolve (?:host|hostname|proxy)\b/i,
  // The C library: Python, ssh, bash, nc, ping, git://, wget. apt says "resolving".
  /temporary failure (?:in name resolution|resolving)/i,
  /name or service not known|no address associated with hostname/i,
  /network is unreachable/i,
  // Node and npm
  /\b(?:EAI_AGAIN|EAI_NONAME|ENOTFOUND|ENETUNREACH)\b/,
  // curl and git, for an address. A missing server on the loopback is a different problem.
  /failed to connect to (?!localhost\b|127\.|\[?::1)\S+ port \d/i,
  /unable to resolve host address|unable to look up \S|could not translate host name/i,
  // Go, docker and other programs written in Go
  /\bdial (?:tcp|udp): lookup /i,
  // BusyBox and Perl
  /\bbad (?:address|hostname) '/i,
  /\bUnknownHostException\b/,
  // Programs that do not name the network in their last message
  /could not find a version that satisfies the requirement .{0,200}\(from versions: none\)/i,
  /No plugin found for prefix '|Could not transfer (?:artifact|metadata) /,
  /could not download file from 'https?:/i,
  /check your internet connection/i,
];

export function looksLikeNoNetwork(output: string): boolean {
  const end = output.slice(-maxTailCharacters);
  return failures.some((failure) => failure.test(end));
}
