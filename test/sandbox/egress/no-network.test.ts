/** Messages of programs without network. Each was recorded by running the program in an empty network namespace. */
import { expect, test } from "vitest";
import { looksLikeNoNetwork } from "../../../src/sandbox/egress/no-network.ts";

test.each([
  ["curl 7.88, a name", "curl: (6) Could not resolve host: example.com"],
  [
    "curl 7.88, an address",
    "curl: (7) Failed to connect to 93.184.216.34 port 80 after 0 ms: Couldn't connect to server",
  ],
  ["wget 1.21, a name", "wget: unable to resolve host address ‘example.com’"],
  ["wget 1.21, an address", "Connecting to 93.184.216.34:80... failed: Network is unreachable."],
  ["busybox wget 1.35", "wget: bad address 'example.com'"],
  [
    "git 2.39 over https",
    "Cloning into 'b'...\nfatal: unable to access 'https://github.com/a/b.git/': Could not resolve host: github.com",
  ],
  [
    "git over ssh",
    "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\r\nfatal: Could not read from remote repository.",
  ],
  ["git://", "fatal: unable to look up github.com (port 9418) (Temporary failure in name resolution)"],
  [
    "git, an address",
    "fatal: unable to access 'http://93.184.216.34/x.git/': Failed to connect to 93.184.216.34 port 80 after 0 ms: Couldn't connect to server",
  ],
  ["ssh, an address", "ssh: connect to host 93.184.216.34 port 22: Network is unreachable"],
  ["scp", "ssh: Could not resolve hostname example.com: Temporary failure in name resolution\nscp: Connection closed"],
  [
    "npm 11",
    "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\nnpm error errno EAI_AGAIN\nnpm error request to https://registry.npmjs.org/left-pad failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
  ],
  [
    "pip 23, with retries",
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f8b40200350>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/requests-nonexistent/",
  ],
  [
    "pip 23, without",
    "ERROR: Could not find a version that satisfies the requirement requests (from versions: none)\nERROR: No matching distribution found for requests",
  ],
  [
    "apt 2.6",
    "E: Failed to fetch http://deb.debian.org/debian/pool/main/h/hello/hello_2.10-3_amd64.deb  Temporary failure resolving 'deb.debian.org'",
  ],
  [
    "go 1.19, through its proxy",
    'go: module github.com/pkg/errors: Get "https://proxy.golang.org/github.com/pkg/errors/@v/list": dial tcp: lookup proxy.golang.org on 10.255.255.53:53: dial udp 10.255.255.53:53: connect: network is unreachable',
  ],
  [
    "go 1.19, without resolv.conf",
    'go: module github.com/pkg/errors: Get "https://proxy.golang.org/github.com/pkg/errors/@v/list": dial tcp: lookup proxy.golang.org on [::1]:53: read udp [::1]:37346->[::1]:53: read: connection refused',
  ],
  ["a Go program, an address", "dial tcp 93.184.216.34:80: connect: network is unreachable"],
  [
    "cargo 1.95",
    "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname (Could not resolve host: index.crates.io)\nerror: download of config.json failed",
  ],
  [
    "rustup 1.28",
    "error: could not download file from 'https://static.rust-lang.org/dist/channel-rust-1.60.toml.sha256' to '/root/.rustup/tmp/484ckcxilz4bagt2_file'",
  ],
  ["node 20, fetch", "TypeError: fetch failed\n  [cause]: Error: getaddrinfo EAI_AGAIN example.com"],
  ["node 20, an address", "Error: connect ENETUNREACH 93.184.216.34:80 - Local (0.0.0.0:0)"],
  ["Python 3.11, urllib", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"],
  ["Python 3.11, an address", "OSError: [Errno 101] Network is unreachable"],
  ["Java 17", 'Exception in thread "main" java.net.UnknownHostException: example.com'],
  [
    "Maven 3.8",
    "[ERROR] No plugin found for prefix 'dependency' in the current project and in the plugin groups [org.apache.maven.plugins, org.codehaus.mojo] available from the repositories [local (/work/m2), central (https://repo.maven.apache.org/maven2)]",
  ],
  [
    "docker, a remote daemon",
    'error during connect: Get "http://example.com:2375/v1.50/containers/json": dial tcp: lookup example.com on 10.255.255.53:53: dial udp 10.255.255.53:53: connect: network is unreachable',
  ],
  ["bash", "bash: line 1: example.com: Temporary failure in name resolution"],
  ["Perl", "IO::Socket::INET: Bad hostname 'example.com:80'"],
  ["nc", 'nc.openbsd: getaddrinfo for host "example.com" port 80: Temporary failure in name resolution'],
  ["ping", "ping: connect: Network is unreachable"],
  [
    "psql 15",
    'psql: error: could not translate host name "db.example.com" to address: Temporary failure in name resolution',
  ],
  ["gh 2.23", "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com"],
])("%s is recognised", (_program, output) => {
  expect(looksLikeNoNetwork(output)).toBe(true);
});

test.each([
  ["nothing", ""],
  [
    "a server of the view's own that is down",
    "curl: (7) Failed to connect to localhost port 1 after 0 ms: Couldn't connect to server",
  ],
  ["a loopback address", "curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server"],
  [
    "another daemon",
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
  ],
  ["a missing program", "sh: 1: ping: not found"],
  ["a failing test", "FAIL src/resolve.test.ts > resolves a host\nAssertionError: expected 'a' to be 'b'"],
  [
    "npm without a lock file",
    "npm error code EUSAGE\nnpm error The `npm ci` command can only install with an existing package-lock.json",
  ],
  ["a refused connection", "Error: connect ECONNREFUSED 127.0.0.1:5432"],
])("%s is not", (_what, output) => {
  expect(looksLikeNoNetwork(output)).toBe(false);
});

test("an output of any length takes no time to speak of", () => {
  expect(looksLikeNoNetwork("could not find a version that satisfies the requirement ".repeat(100_000))).toBe(false);
});
