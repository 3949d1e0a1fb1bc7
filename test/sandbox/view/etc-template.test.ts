/** The /etc of views: an earlier start's is used only if nothing in it was changed, and live folders stay public. */
import {
  chmodSync,
  chownSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { makeEtcTemplate } from "../../../src/sandbox/view/etc-template.ts";

let source: string;
let outside: string;
let etc: string;
beforeEach(() => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "remora-etc-")));
  [source, outside, etc] = [join(folder, "source"), join(folder, "outside"), join(folder, "etc")];
  mkdirSync(join(source, "ssl/certs/more"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(source, "services"), "ssh 22/tcp\n");
  writeFileSync(join(source, "ssl/openssl.cnf"), "[default]\n");
  symlinkSync("/usr/share", join(source, "magic"));
  for (let index = 0; index < 20; index++)
    symlinkSync(`/usr/share/ca-certificates/${index}`, join(source, "ssl/certs", `${index}.pem`));
  writeFileSync(join(source, "ssl/certs/all.crt"), "BEGIN CERTIFICATE");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const mounted = () => makeEtcTemplate(etc, source).mounted();
const inEtc = (name: string) => join(etc, name);

describe("the /etc of an earlier start", () => {
  test("is used if it is as it was written, also with links to folders", () => {
    mounted();
    const before = lstatSync(etc).ino;
    expect(mounted()).toEqual(["ssl/certs"]);
    expect(lstatSync(etc).ino).toBe(before);
  });

  test("does not depend on the umask", () => {
    const umask = process.umask(0o077);
    onTestFinished(() => void process.umask(umask));
    mounted();
    expect(lstatSync(inEtc("ssl")).mode & 0o777).toBe(0o755);
    expect(lstatSync(inEtc("services")).mode & 0o777).toBe(0o644);
  });

  const changes: Record<string, () => void> = {
    "another content": () => writeFileSync(inEtc("services"), "ssh 23/tcp\n"),
    "an added file": () => writeFileSync(inEtc("added"), ""),
    "a missing file": () => rmSync(inEtc("services")),
    "another mode of a file": () => chmodSync(inEtc("services"), 0o666),
    "a set-user-id bit": () => chmodSync(inEtc("services"), 0o4644),
    "another mode of a folder": () => chmodSync(inEtc("ssl"), 0o777),
    "another mode of the whole": () => chmodSync(etc, 0o777),
    "a link to a file with the same content": () => {
      cpSync(inEtc("services"), join(outside, "services"));
      rmSync(inEtc("services"));
      symlinkSync(join(outside, "services"), inEtc("services"));
    },
    "a second name of a file": () => linkSync(inEtc("services"), join(outside, "services")),
    "another target of a link": () => {
      rmSync(inEtc("magic"));
      symlinkSync("/usr/lib", inEtc("magic"));
    },
    "a link to a folder with the same content": () => {
      renameSync(inEtc("ssl"), join(outside, "ssl"));
      symlinkSync(join(outside, "ssl"), inEtc("ssl"));
    },
    "a link to the whole": () => {
      renameSync(etc, join(outside, "etc"));
      symlinkSync(join(outside, "etc"), etc);
    },
    "a file in a folder that is mounted": () => writeFileSync(inEtc("ssl/certs/added"), ""),
  };
  if (process.geteuid?.() === 0) {
    changes["another owner of a file"] = () => chownSync(inEtc("services"), 12_345, 0);
    changes["another owner of a folder"] = () => chownSync(inEtc("ssl"), 12_345, 0);
  }

  test.each(Object.entries(changes))("is made again after %s", (_name, change) => {
    mounted();
    change();
    mounted();
    const found = lstatSync(inEtc("services"));
    expect(lstatSync(etc).isDirectory()).toBe(true);
    expect(lstatSync(etc).mode & 0o7777).toBe(0o755);
    expect(lstatSync(inEtc("ssl")).isDirectory()).toBe(true);
    expect(lstatSync(inEtc("ssl")).mode & 0o7777).toBe(0o755);
    expect([lstatSync(inEtc("ssl")).uid, found.uid]).toEqual([process.geteuid?.(), process.geteuid?.()]);
    expect(found.isFile()).toBe(true);
    expect([found.nlink, found.mode & 0o7777]).toEqual([1, 0o644]);
    expect(readFileSync(inEtc("services"), "utf8")).toBe("ssh 22/tcp\n");
    expect(readdirSync(etc)).not.toContain("added");
    expect(readdirSync(inEtc("ssl/certs"))).toEqual([]);
  });
});

describe("a folder that views have from the host", () => {
  const inCerts = (name: string) => join(source, "ssl/certs", name);

  test("stays mounted while all in it is public", () => {
    const template = makeEtcTemplate(etc, source);
    symlinkSync("/usr/share/ca-certificates/new", inCerts("new.pem"));
    expect(template.mounted()).toEqual(["ssl/certs"]);
    expect(readdirSync(inEtc("ssl/certs"))).toEqual([]);
  });

  const secrets: Record<string, { write: () => void; name: string }> = {
    "a file that only its owner may read": {
      write: () => writeFileSync(inCerts("own.key"), "secret", { mode: 0o600 }),
      name: "own.key",
    },
    "a private key that all may read": {
      write: () => writeFileSync(inCerts("own.key"), "-----BEGIN PRIVATE KEY-----"),
      name: "own.key",
    },
    "a secret in a folder of it": {
      write: () => writeFileSync(inCerts("more/own.key"), "secret", { mode: 0o600 }),
      name: "more/own.key",
    },
    "a file in it that is private now": { write: () => chmodSync(inCerts("all.crt"), 0o600), name: "all.crt" },
  };
  test.each(Object.entries(secrets))("is copied without %s", (_name, { write, name }) => {
    const template = makeEtcTemplate(etc, source);
    expect(template.mounted()).toEqual(["ssl/certs"]);
    write();
    expect(template.mounted()).toEqual([]);
    expect(template.mounted()).toEqual([]);
    const copied = readdirSync(inEtc("ssl/certs"), { recursive: true });
    expect(copied).toContain("7.pem");
    expect(copied).not.toContain(name);
    rmSync(inCerts(name));
    // The next start finds only what it needs.
    expect(mounted()).toEqual(["ssl/certs"]);
    expect(readdirSync(inEtc("ssl/certs"))).toEqual([]);
  });

  test.each(["nothing", "a link"])("is left out if %s is in its place", (what) => {
    const template = makeEtcTemplate(etc, source);
    renameSync(inCerts(""), join(outside, "certs"));
    if (what === "a link") symlinkSync(join(outside, "certs"), join(source, "ssl/certs"));
    expect(template.mounted()).toEqual([]);
    expect(readdirSync(inEtc("ssl/certs"))).toEqual([]);
  });
});
