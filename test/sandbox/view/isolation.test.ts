/** What a command can't do. Where possible, a test checks the machine and not the command's output. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorkbench } from "./workbench.ts";

const hasPython = existsSync("/usr/bin/python3");

describe("the network", () => {
  test("is not reached: no TCP, no UDP, no socket of a service", async () => {
    const { run, place } = createWorkbench();
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    const datagrams = createSocket("udp4", () => {});
    const socketFolder = join(place, "readable");
    mkdirSync(socketFolder);
    const local = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(join(socketFolder, "service"));
    datagrams.on("message", () => {
      connections += 1;
    });
    datagrams.bind(0, "127.0.0.1");
    await Promise.all([once(server, "listening"), once(datagrams, "listening"), once(local, "listening")]);
    onTestFinished(() => {
      server.close();
      local.close();
      datagrams.close();
    });
    const port = (server.address() as { port: number }).port;
    const script = [
      `(echo x > /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo tcp`,
      `(echo x > /dev/tcp/1.1.1.1/53) 2>/dev/null && echo outside`,
      `echo x > /dev/udp/127.0.0.1/${datagrams.address().port}`,
      `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("${socketFolder}/service"); print("unix")' 2>/dev/null`,
      "true",
    ].join("\n");
    const { output } = await run(script, { readable: [socketFolder] });
    expect(output.replace(/^bash:.*\n/gm, "")).toBe("");
    expect(connections).toBe(0);
  });

  test.skipIf(!hasPython)("has a loopback of its own that works", async () => {
    const script = `python3 - <<'EOF'
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2], 5)
    server.accept()[0].sendall(b"hello"); print(client.recv(5))
EOF`;
    const { output } = await createWorkbench().run(script);
    expect(output).toBe("b'hello'\nb'hello'\n");
  });

  test.skipIf(!hasPython)("other families of sockets are refused, such as vsock", async () => {
    const script = `python3 - <<'EOF'
import socket
for family in (40, 17, 38, 16):
    try: socket.socket(family, socket.SOCK_RAW if family in (16, 17) else socket.SOCK_STREAM); print(family, "open")
    except OSError as error: print(family, error.errno)
EOF`;
    const { output } = await createWorkbench().run(script);
    expect(output).toBe("40 97\n17 97\n38 97\n16 open\n");
  });
});

describe("the machine's files", () => {
  test("a home, other folders and mounts do not exist", async () => {
    const { run, place } = createWorkbench();
    const home = mkdtempSync(join(homedir(), ".remora-canary-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    writeFileSync(join(home, "canary"), "secret");
    writeFileSync(join(place, "canary"), "secret");
    const { output } = await run(
      `cat ${home}/canary ${place}/canary; ls -A / ${place}; for f in /home /root /srv /opt /mnt /run /sys /boot; do ls -d $f; done`,
    );
    expect(output).not.toContain("secret");
    const names = ["bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr", "var"];
    const root = (/^\/:\n((?:\w+\n)+)/m.exec(output)?.[1] ?? "").trim().split("\n");
    expect(root.filter((name) => !names.includes(name))).toEqual([]);
    for (const path of ["/home", "/root", "/srv", "/opt", "/mnt", "/run", "/sys", "/boot"])
      expect(output).toContain(`cannot access '${path}'`);
  });

  test("no file of the system can be written, and /etc holds no secret and no account", async () => {
    const { output } = await createWorkbench().run(
      "for f in / /usr /usr/bin /etc /dev /proc /proc/sys /var; do (: > $f/remora-test) 2>/dev/null && echo wrote $f; done;" +
        "cat /etc/shadow /etc/ssh/* 2>/dev/null; grep -rl 'PRIVATE KEY' /etc 2>/dev/null; cut -d: -f1 /etc/passwd",
    );
    expect(output).toBe("root\nuser\nnobody\n");
  });

  test("the machine's devices can be used, and their modes and times can't be changed, also as their owner", async () => {
    // Use the current mode, so that a failure does not harm this machine.
    const { output } = await createWorkbench().run(
      "echo gone > /dev/null && head -c 2 /dev/zero | wc -c; chmod 666 /dev/full 2>/dev/null && echo changed; touch -c -d 2001-01-01 /dev/full 2>/dev/null && echo touched; true",
    );
    expect(output).toBe("2\n");
  });

  test("hidden folders are empty also where they lie in a readable one, and the working folder in one is there", async () => {
    const { place } = createWorkbench();
    const shown = join(place, "shown");
    const hidden = join(shown, "project");
    const folder = join(hidden, "work");
    mkdirSync(folder, { recursive: true });
    for (const path of [join(shown, "a"), join(hidden, "secret"), join(folder, "mine")]) writeFileSync(path, "text");
    const { run } = createWorkbench({ hidden: [hidden] });
    const { output } = await run(`ls ${shown} ${hidden} .; touch ${hidden}/x`, { folder, readable: [shown] });
    expect(output).toContain(`${shown}:\na\nproject\n`);
    expect(output).toContain(`${hidden}:\nwork\n`);
    expect(output).toContain(".:\nmine\n");
    expect(output).toContain("Read-only file system");
  });

  test("folders are bound read-only at another path", async () => {
    const { place, run } = createWorkbench();
    mkdirSync(join(place, "given"));
    writeFileSync(join(place, "given", "a"), "given");
    const { output } = await run("cat /outputs/a; echo x > /outputs/a; ls /missing", {
      mounts: [
        { from: join(place, "given"), at: "/outputs" },
        { from: join(place, "none"), at: "/missing" },
      ],
    });
    expect(output).toMatch(/^given.*Read-only file system\n.*cannot access '\/missing'/s);
    expect(readFileSync(join(place, "given", "a"), "utf8")).toBe("given");
  });
});

describe("processes and the kernel", () => {
  test("of the machine are not there, and process 1 tells nothing", async () => {
    process.env.REMORA_TEST_SECRET = "secret";
    const { output } = await createWorkbench().run(
      `ls /proc | grep '^[0-9]' | wc -l; kill -0 ${process.pid} && echo seen; tr '\\0' '\\n' < /proc/1/environ; ls /proc/1/root /proc/1/cwd; for n in 3 7 10 11; do (: < /proc/1/fd/$n) && echo opened; done; (echo x > /proc/1/fd/11/sys/kernel/domainname) && echo wrote; kill -9 1; echo still`,
    );
    delete process.env.REMORA_TEST_SECRET;
    expect(Number(output.split("\n")[0])).toBeLessThan(8);
    expect(output).not.toMatch(/secret|seen|opened|wrote/);
    expect(output).toMatch(/cannot access '\/proc\/1\/root'/);
    expect(output).toContain("still");
  });

  test("settings of the kernel can't be written, not even with what they are", async () => {
    const { output } = await createWorkbench().run(
      "for f in kernel/core_pattern kernel/hostname vm/overcommit_memory kernel/ns_last_pid net/ipv4/ip_forward; do" +
        ' v=$(cat /proc/sys/$f); (echo "$v" > /proc/sys/$f) 2>/dev/null && echo wrote $f; done;' +
        " for f in /proc/irq /proc/fs /proc/bus /proc/scsi /proc/acpi /proc/driver /proc/tty; do ls -A $f 2>/dev/null; done;" +
        " cat /proc/kcore /proc/keys /proc/key-users /proc/timer_list /proc/sysrq-trigger /proc/kallsyms /proc/cmdline 2>/dev/null | wc -c",
    );
    expect(output).toBe("0\n");
  });

  test("there is no capability, no way to get one, and the seccomp filter is on", async () => {
    const { output } = await createWorkbench().run(
      "grep -E '^(Cap|NoNew|Seccomp:|Groups)' /proc/self/status | tr -d '\\t'",
    );
    expect(output).toMatch(/^(Groups:[^\n]*\n)?(Cap\w+:0{16}\n){5}NoNewPrivs:1\nSeccomp:2\n$/);
  });

  test("devices, mounts, namespaces, flags and owners are refused", async () => {
    const { run } = createWorkbench();
    const attempts = [
      "mknod /tmp/d b 254 0",
      "mknod d c 1 3",
      "mount -t tmpfs none /tmp",
      "umount /proc",
      "unshare --user true",
      "unshare --mount true",
      "chattr +i made",
      "chown 0 made",
      "chroot / true",
      "nsenter -t 1 -m true",
      "setpriv --reuid=0 true",
      "hostname other",
      "date -s 2001-01-01",
      "dmesg",
      "renice -n -10 $$",
    ];
    const { output } = await run(
      `touch made\n${attempts.map((one) => `(${one}) >/dev/null 2>&1 && echo '${one}'`).join("\n")}\ntrue`,
    );
    expect(output).toBe("");
  });

  test.skipIf(!hasPython)("system calls that only attackers need are refused", async () => {
    const script = `python3 - <<'EOF'
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
x64 = platform.machine() == "x86_64"
calls = dict(ptrace=(101, 117), keyctl=(250, 219), bpf=(321, 280), userfaultfd=(323, 282), perf=(298, 241), mount=(165, 40),
  fsopen=(430, 430), open_tree=(428, 428), setns=(308, 268), kexec=(246, 104), handle=(304, 265), vm_read=(310, 270),
  io_uring=(425, 425), clone3=(435, 435))
for name, numbers in calls.items():
    result = libc.syscall(numbers[0 if x64 else 1], 0, 0, 0, 0, 0, 0)
    print(name, result, ctypes.get_errno())
print("clone", libc.syscall(56 if x64 else 220, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())
print("TIOCSTI", libc.ioctl(0, ctypes.c_ulong(0x100005412), b"x"), ctypes.get_errno())
print("personality", libc.personality(ctypes.c_ulong(0x0040000)), libc.personality(ctypes.c_ulong(0xffffffff)))
EOF`;
    const { output } = await createWorkbench().run(script);
    const refused = [
      "ptrace",
      "keyctl",
      "bpf",
      "userfaultfd",
      "perf",
      "mount",
      "fsopen",
      "open_tree",
      "setns",
      "kexec",
    ];
    const lines = [...refused, "handle", "vm_read"].map((name) => `${name} -1 1`);
    const rest = ["io_uring -1 38", "clone3 -1 38", "clone -1 1", "TIOCSTI -1 1", "personality -1 0"];
    expect(output.trim().split("\n")).toEqual([...lines, ...rest]);
  });

  test("leaves no core dump, and dies before the bot when memory is short", async () => {
    const { output } = await createWorkbench().run(
      "ulimit -c; cat /proc/self/oom_score_adj; sh -c 'kill -SEGV $$'; ls",
    );
    expect(output).toMatch(/^0\n1000\n/);
    expect(output).not.toMatch(/^core/m);
  });

  test("setuid programs give nothing", async () => {
    const { output } = await createWorkbench().run(
      "cp /bin/sh ./sh; chmod u+s ./sh; ./sh -p -c 'id -u'; su -c id 2>&1; true",
    );
    expect(output.split("\n")[0]).toBe("1000");
    expect(output).not.toContain("uid=0");
  });
});
