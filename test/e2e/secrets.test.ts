/** The running process exposes no secret to other programs: in its environment, arguments or descriptors. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHome, type RemoraHome, type RemoraProcess, spawnWhole, startRemora } from "../doubles/remora-process.ts";

const secrets = {
  ANTHROPIC_API_KEY: "sk-ant-canary-1111",
  AWS_SECRET_ACCESS_KEY: "canary-2222",
  PLAIN_NAME: "canary-3333",
  HTTPS_PROXY: "http://someone:canary-4444@127.0.0.1:9",
  REMORA_USED_BELOW: "canary-5555",
};
const all = /canary-\d{4}/;

describe("the running process", () => {
  let home: RemoraHome;
  let remora: RemoraProcess;
  let folder: string;

  beforeAll(async () => {
    home = await createHome();
    folder = await mkdtemp(join(tmpdir(), "remora-secrets-"));
    const config = join(folder, "remora.yaml");
    const keyFile = join(folder, "openai");
    await writeFile(config, "skills: { settings: { web: { key: '${REMORA_USED_BELOW}', other: '${FROM_FILE}' } } }\n");
    await writeFile(keyFile, "canary-6666\n");
    await chmod(keyFile, 0o600);
    const files = { REMORA_CONFIG: config, OPENAI_API_KEY_FILE: keyFile, FROM_FILE_FILE: keyFile };
    remora = await startRemora(home, { ...secrets, ...files }, [], undefined, spawnWhole);
  });
  afterAll(async () => {
    await remora.stop();
    await home.remove();
    await rm(folder, { recursive: true, force: true });
  });

  test("has no secret in its environment or arguments", () => {
    const environ = readFileSync(`/proc/${remora.pid}/environ`, "latin1");
    expect(environ).toContain("PATH=");
    expect(environ).not.toMatch(all);
    expect(environ).not.toContain("ANTHROPIC_API_KEY");
    expect(readFileSync(`/proc/${remora.pid}/cmdline`, "latin1")).not.toMatch(all);
  });

  test("has closed the file that passed the secrets", () => {
    const open = readdirSync(`/proc/${remora.pid}/fd`).map((fd) => readlinkSync(`/proc/${remora.pid}/fd/${fd}`));
    expect(readlinkSync(`/proc/${remora.pid}/fd/0`)).toBe("/dev/null");
    expect(open.filter((path) => path.includes(`remora-${remora.pid}-`))).toEqual([]);
    expect(readdirSync("/dev/shm").filter((name) => name.startsWith(`remora-${remora.pid}-`))).toEqual([]);
  });

  test("passes no secret to its child processes", async () => {
    const children = readFileSync(`/proc/${remora.pid}/task/${remora.pid}/children`, "utf8").split(" ").filter(Boolean);
    for (const child of children) expect(readFileSync(`/proc/${child}/environ`, "latin1")).not.toMatch(all);
  });

  test("still knows the secrets, including those from files", () => {
    expect(remora.stdout()).toContain("anthropic/");
    expect(remora.stdout()).toContain("openai/");
    expect(remora.stdout()).not.toMatch(all);
  });
});

test("a start with the marker but without the file says what to do", async () => {
  const home = await createHome();
  const started = startRemora(home, { REMORA_ENVIRONMENT: "0" }, [], undefined, spawnWhole);
  await expect(started).rejects.toThrow("unset REMORA_ENVIRONMENT");
  await home.remove();
});
