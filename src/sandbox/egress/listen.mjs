/** Runs in a view's network namespace: listens on a free loopback port, hands the socket to Remora and exits. */
import { spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";

/** SIOCSIFFLAGS with IFF_UP and IFF_RUNNING. */
const perl = 'socket(my $s, 2, 1, 0) or die; my $r = pack("a16s x14", "lo", 0x41); ioctl($s, 0x8914, $r) or die';
const python =
  "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14x', b'lo', 0x41))";

/** A new namespace's loopback is down, and Node can't bring it up. Every distribution has one of these programs. */
const loopbackCommands = [
  ["ip", "link", "set", "lo", "up"],
  ["busybox", "ip", "link", "set", "lo", "up"],
  ["ifconfig", "lo", "up"],
  ["perl", "-e", perl],
  ["python3", "-c", python],
];

// `os.networkInterfaces` omits interfaces that are down.
const isUp = () => networkInterfaces().lo !== undefined;

function bringUp() {
  for (const [program, ...args] of loopbackCommands) {
    if (isUp()) return;
    spawnSync(program, args, { stdio: "ignore" });
  }
}

function fail(code) {
  process.send({ error: code }, () => process.exit(1));
}

bringUp();
if (!isUp()) {
  fail("loopback");
} else {
  const server = createServer();
  server.on("error", (error) => fail(error.code));
  server.listen({ host: "127.0.0.1", port: 0, backlog: 128 }, () => {
    const namespace = readlinkSync("/proc/self/ns/net");
    process.send({ port: server.address().port, namespace }, server, () => process.exit(0));
  });
}
