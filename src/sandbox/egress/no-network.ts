/** Recognises that a command failed because its view has no network, so that the model asks for it instead of guessing. */

/** Appended to the result of such a command. */
export const noNetworkHint =
  'This command has no network access. If it needs a host, call shell_exec again with network: ["host"], naming each host; a person will be asked.';

/** A failure is told at the end of the output. */
const maxReadCharacters = 20_000;

const failures = [
  // curl, git, cargo, ssh, scp; with a bad proxy too
  /could not resolve (?:host|hostname|proxy)\b/i,
  // The C library's words: Python, ssh, bash, nc, ping, git://, wget; apt says "resolving"
  /temporary failure (?:in name resolution|resolving)/i,
  /name or service not known|no address associated with hostname/i,
  /network is unreachable/i,
  // Node and npm
  /\b(?:EAI_AGAIN|EAI_NONAME|ENOTFOUND|ENETUNREACH)\b/,
  // curl and git to an address; a server on the loopback that is not there is another matter
  /failed to connect to (?!localhost\b|127\.|\[?::1)\S+ port \d/i,
  /unable to resolve host address|unable to look up \S|could not translate host name/i,
  // Go, docker and other programs written in Go
  /\bdial (?:tcp|udp): lookup /i,
  // BusyBox and Perl
  /\bbad (?:address|hostname) '/i,
  /\bUnknownHostException\b/,
  // These say nothing of the network when they have given up.
  /could not find a version that satisfies the requirement .{0,200}\(from versions: none\)/i,
  /No plugin found for prefix '|Could not transfer (?:artifact|metadata) /,
  /could not download file from 'https?:/i,
  /check your internet connection/i,
];

/** For the output of a command that failed in a view without network. A hint, not a proof. */
export function looksLikeNoNetwork(output: string): boolean {
  const end = output.slice(-maxReadCharacters);
  return failures.some((failure) => failure.test(end));
}
