import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Environment } from "../../src/config/environment.ts";
import { formatProblems, loadSettings } from "../../src/config/load.ts";

let root: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "remora-env-file-"));
  file = join(root, ".env");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(text: string, mode = 0o600): void {
  writeFileSync(file, text);
  chmodSync(file, mode);
}

function settings(env: Environment = {}) {
  const result = loadSettings(env, root);
  if (result.type === "invalid") throw new Error(formatProblems(result.problems));
  return result.settings;
}

function problems(env: Environment = {}): string[] {
  const result = loadSettings(env, root);
  return result.type === "ok" ? [] : result.problems.map(({ place, message }) => `${place} ${message}`);
}

describe("a .env in the working folder", () => {
  test("sets what the environment does not, and never enters the environment", () => {
    write(
      '# tokens\nDISCORD_TOKEN="token-one"\nexport LOG_LEVEL=debug\r\nOPENAI_API_KEY=from-file # comment\nREMORA_PORT=5000\n',
    );
    const { discord, config, secrets, sources } = settings({ OPENAI_API_KEY: "from-shell", REMORA_PORT: "" });
    expect(discord?.token).toBe("token-one");
    expect(config).toMatchObject({ log: { level: "debug" }, web: { port: 5000 } });
    expect(config.models.openai.apiKey).toBe("from-shell");
    expect(secrets).toContainEqual({ name: "DISCORD_TOKEN", value: "token-one" });
    expect(process.env.DISCORD_TOKEN).toBeUndefined();
    const placeOf = (key: string) => sources.find((source) => source.key === key)?.place;
    expect(placeOf("log.level")).toBe(`${file}:3 LOG_LEVEL`);
    expect(placeOf("DISCORD_TOKEN")).toBe(`${file}:2 DISCORD_TOKEN`);
    expect(placeOf("models.openai.apiKey")).toBe("OPENAI_API_KEY");
  });

  test("can name files of secrets and the configuration, relative to its folder", () => {
    writeFileSync(join(root, "token"), "token-two\n");
    writeFileSync(join(root, "other.yaml"), "safety: { quorum: 3 }\n");
    write("DISCORD_TOKEN_FILE=token\nREMORA_CONFIG=other.yaml\n");
    expect(settings().discord?.token).toBe("token-two");
    expect(settings().config.safety.quorum).toBe(3);
  });

  test("that others can read gets a warning; a private one or none does not", () => {
    expect(settings().warnings).toEqual([]);
    write("LOG_LEVEL=info\n", 0o600);
    expect(settings().warnings).toEqual([]);
    chmodSync(file, 0o640);
    expect(settings().warnings).toEqual([`${file} can be read by other users of this machine. Run: chmod 600 ${file}`]);
  });

  test("is not in a folder that tools can read", () => {
    write("LOG_LEVEL=info\n");
    const data = join(tmpdir(), "elsewhere");
    mkdirSync(join(root, "config"));
    writeFileSync(join(root, "config", "remora.yaml"), `sandbox: { readable: ["${root}"] }\n`);
    expect(problems({ REMORA_DATA: data })).toEqual([expect.stringContaining("tools could read Remora's own")]);
    rmSync(file);
    expect(problems({ REMORA_DATA: data })).toEqual([]);
  });
});

describe("what stops the start", () => {
  test("lines that are no settings, each with its number; text in quotes may have several lines", () => {
    write("DISCORD_TOKEN: abc\n\n# fine\nKEY='one\nnot a setting\nthree'\njust words\n");
    expect(problems()).toEqual([
      `${file}:1 is not a setting. Write NAME=value, or begin the line with # for a comment.`,
      `${file}:7 is not a setting. Write NAME=value, or begin the line with # for a comment.`,
    ]);
  });

  test("a folder, a large file, and a named file that is missing", () => {
    expect(problems({ REMORA_ENV_FILE: root })).toEqual([expect.stringContaining("is a folder")]);
    write("#".repeat(2_000_000));
    expect(problems()).toEqual([expect.stringContaining("has more than 1 MiB")]);
    expect(problems({ REMORA_ENV_FILE: "none" })).toEqual([expect.stringMatching(/none can't be read: ENOENT/)]);
  });

  test("a misspelled name of ours, wherever it is", () => {
    write("REMORA_WORKSPASE=/x\n");
    expect(problems({ REMORA_PROT: "1", REMORA_CONIFG_FILE: "x" })).toEqual([
      "REMORA_PROT is not a setting of Remora. Did you mean REMORA_PORT?",
      "REMORA_CONIFG_FILE is not a setting of Remora. Did you mean REMORA_CONFIG_FILE?",
      `${file}:1 REMORA_WORKSPASE is not a setting of Remora. Did you mean REMORA_WORKSPACE?`,
    ]);
  });
});

describe("names that may belong to something else", () => {
  test("are mentioned", () => {
    expect(settings({ SLACK_BOT_TOKN: "x", REMORA_SOMETHING: "x" }).warnings).toEqual([
      "SLACK_BOT_TOKN is not read. Did you mean SLACK_BOT_TOKEN?",
      "REMORA_SOMETHING is not a setting of Remora and is not read.",
    ]);
  });

  test("are left alone if the file uses them, if they are empty, or if Kubernetes sets them", () => {
    mkdirSync(join(root, "config"));
    writeFileSync(join(root, "config", "remora.yaml"), "skills: { settings: { web: { a: '${REMORA_PORTS}' } } }\n");
    const env = { REMORA_PORTS: "x", REMORA_PROT: "", REMORA_SERVICE_PORT: "80", REMORA_PORT_80_TCP: "tcp://1" };
    expect(settings({ ...env, DISCORD_URL: "x", OPENAI_ORGANIZATION: "x" }).warnings).toEqual([]);
  });
});
