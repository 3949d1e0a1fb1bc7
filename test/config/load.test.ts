import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ConfigProblem, Environment } from "../../src/config/environment.ts";
import { formatProblems, loadSettings } from "../../src/config/load.ts";
import { configSchema } from "../../src/config/schema.ts";
import { runs } from "../faults/share.ts";

const project = resolve(import.meta.dirname, "../..");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(yaml: string, env: Environment = {}) {
  const file = join(folder, "remora.yaml");
  writeFileSync(file, yaml);
  return loadSettings({ REMORA_CONFIG: file, ...env }, project);
}

function problemsIn(yaml: string, env: Environment = {}): ConfigProblem[] {
  const result = load(yaml, env);
  return result.type === "invalid" ? result.problems : [];
}

function settingsOf(yaml: string, env: Environment = {}) {
  const result = load(yaml, env);
  if (result.type === "invalid") throw new Error(formatProblems(result.problems));
  return result.settings;
}

describe("the shipped file", () => {
  test("says exactly the defaults", () => {
    const result = loadSettings({}, project);
    expect(result).toMatchObject({ type: "ok", settings: { config: configSchema.parse({}) } });
  });
});

describe("problems", () => {
  test("come all at once, each with place, key, value and what to do", () => {
    const problems = problemsIn("turns:\n  overlap: later\n  stepz: 3\nweb:\n  port: 99999\nnonsense: 1\n");
    const text = formatProblems(problems);
    expect(text).toContain("4 problems");
    expect(problems.map((problem) => problem.key).sort()).toEqual([
      "nonsense",
      "turns.overlap",
      "turns.stepz",
      "web.port",
    ]);
    expect(text).toContain('remora.yaml:2] turns.overlap: "later" can\'t be used');
    expect(text).toContain('remora.yaml:3] turns.stepz: unknown key. Did you mean "steps"?');
    expect(text).toContain("remora.yaml:5] web.port: 99999 can't be used");
    expect(text).toContain("remora.yaml:6] nonsense: unknown key.");
  });

  test.each([
    ["models: { userIds: never }", '"never" can\'t be used: write digest or off.'],
    ["models: { ollama: { contextTokens: 12 } }", "12 can't be used: write a number, at least 2048."],
    ["web: { port: 99999 }", "99999 can't be used: write a number, at most 65535."],
    ["turns: { steps: 1.5 }", "1.5 can't be used: write a whole number."],
    ["models: { order: openai }", '"openai" can\'t be used: write a list, such as ["one", "two"].'],
    ["local: { enabled: off }", '"off" can\'t be used: write true or false.'],
    ["models: { ollama: { think: off } }", '"off" can\'t be used: write false to turn it off'],
    ["models: { openai: { model: '' } }", '"" can\'t be used: write a text that is not empty.'],
  ])("of a value say in plain words what to write: %s", (yaml, said) => {
    expect(formatProblems(problemsIn(`${yaml}\n`))).toContain(said);
  });

  test("in the YAML itself name the line", () => {
    const [problem] = problemsIn("turns:\n  steps: 3\n bad: [\n");
    expect(problem?.place).toMatch(/remora\.yaml:\d+$/);
    expect(problem?.message).toMatch(/^not valid YAML: .*[^:.]\. Correct the line; indent by two spaces\.$/);
    expect(problem?.message).not.toMatch(/at line \d/);
  });

  test("a key written twice is a problem, not a silent choice", () => {
    const problems = problemsIn("log:\n  level: info\nlog:\n  level: warn\n");
    expect(problems).toMatchObject([
      { place: expect.stringMatching(/:3$/), message: expect.stringContaining('"log" is written twice. Join the two') },
    ]);
  });

  test("shares that do not add up are named", () => {
    expect(formatProblems(problemsIn("context:\n  shares:\n    memory: 90\n"))).toContain("add up to 100");
  });

  test("a named file that is missing is a problem; a missing default file is an empty one", () => {
    const missing = loadSettings({ REMORA_CONFIG: join(folder, "none.yaml") }, project);
    expect(missing).toMatchObject({ type: "invalid" });
    expect(loadSettings({}, folder)).toMatchObject({ type: "ok" });
  });

  test.each([
    ["{ provider: cohere, model: m }", 'memory.embeddings.provider: "cohere" can\'t be used: write openai'],
    ["{ provider: ollama }", "memory.embeddings.model: no value can't be used: give the name of an embedding model"],
    ["{ provider: ollama, model: m, baseUrl: localhost }", "give an http(s) address, or null"],
    ["{ provider: ollama, model: m, baseUrl: 'file:///etc' }", "give an http(s) address, or null"],
    ["{ provider: openai, model: m, dimensions: 1.5 }", "give a whole number, or null"],
    ["{ provider: openai, model: m, dimensions: 2 }", "at least 8"],
    [
      "{ provider: openai, model: m, modle: m }",
      'memory.embeddings.modle: unknown key. Did you mean "model"? Known keys here: provider, model,',
    ],
    ["on", "give provider and model, or null"],
  ])("memory.embeddings %s is refused with a reason", (yaml, said) => {
    expect(formatProblems(problemsIn(`memory:\n  embeddings: ${yaml}\n`))).toContain(said);
  });

  test.each([
    ["on", "give baseUrl and model, or null"],
    ["{ baseUrl: 'http://a/v1' }", "transcription.model: no value can't be used: give the name of a model"],
    [
      "{ baseUrl: 'http://a/v1', model: m, key: k }",
      "transcription.key: unknown key. Known keys here: baseUrl, model,",
    ],
  ])("transcription %s is refused with a reason", (yaml, said) => {
    expect(formatProblems(problemsIn(`transcription: ${yaml}\n`))).toContain(said);
  });

  test.each([
    [
      "keepAlive: 30 minutes",
      'models.ollama.keepAlive: "30 minutes" can\'t be used: write seconds, such as 1800, or a time',
    ],
    ["keepAlive: '30'", "write seconds, such as 1800, or a time with its unit"],
    [
      "think: maybe",
      'models.ollama.think: "maybe" can\'t be used: write false to turn it off, true, low, medium, high or max, or null',
    ],
    ["contextTokens: 512", "at least 2048"],
  ])("models.ollama %s is refused with a reason", (yaml, said) => {
    expect(formatProblems(problemsIn(`models:\n  ollama:\n    ${yaml}\n`))).toContain(said);
  });

  test.each([
    "keepAlive: 30m",
    "keepAlive: 1h30m",
    "keepAlive: -1",
    "keepAlive: -1m",
    "keepAlive: null",
    "think: false",
  ])("models.ollama takes %s", (yaml) => {
    expect(problemsIn(`models:\n  ollama:\n    ${yaml}\n`)).toEqual([]);
  });

  test("a channel in chatLog.exclude must be an id, because a name would exclude nothing", () => {
    const exclude = (...channels: string[]) => problemsIn(`chatLog:\n  exclude: ${JSON.stringify(channels)}\n`);
    expect(exclude("slack:C0123", "slack:G0123AB", "discord:197038439483310086", "local:general")).toEqual([]);
    for (const wrong of [
      "general",
      "slack:#general",
      "slack:general",
      "slack:c0123",
      "discord:general",
      "local:#general",
    ])
      expect(formatProblems(exclude(wrong)), wrong).toContain("write a channel as slack:C0123");
  });

  test("a file that is a list or a word is refused", () => {
    expect(problemsIn("- a\n- b\n")).not.toEqual([]);
    expect(problemsIn("hello\n")).not.toEqual([]);
  });
});

describe("the environment", () => {
  test("fills ${NAME} and ${NAME:-default}", () => {
    const settings = settingsOf(
      "models:\n  anthropic:\n    model: ${MODEL}\n    baseUrl: ${BASE:-http://127.0.0.1:9}\n",
      {
        MODEL: "claude-x",
      },
    );
    expect(settings.config.models.anthropic).toMatchObject({ model: "claude-x", baseUrl: "http://127.0.0.1:9" });
  });

  test("a name that is not set is a problem with its line", () => {
    const [problem] = problemsIn("models:\n  anthropic:\n    apiKey: ${MISSING_KEY}\n");
    expect(problem).toMatchObject({ key: "models.anthropic.apiKey" });
    expect(problem?.place).toMatch(/:3$/);
    expect(problem?.message).toContain("MISSING_KEY");
  });

  test("wins over the file, and an empty variable counts as not set", () => {
    const yaml = "web:\n  port: 5000\nlog:\n  level: warn\n";
    expect(settingsOf(yaml, { REMORA_PORT: "0", LOG_LEVEL: "debug" }).config).toMatchObject({
      web: { port: 0 },
      log: { level: "debug" },
    });
    expect(settingsOf(yaml, { REMORA_PORT: "", LOG_LEVEL: "" }).config).toMatchObject({
      web: { port: 5000 },
      log: { level: "warn" },
    });
  });

  test("is what a wrong value from the environment is blamed on, with that value", () => {
    const [problem, ...others] = problemsIn("log:\n  level: info\n", { LOG_LEVEL: "loud" });
    expect(problem).toMatchObject({ place: "LOG_LEVEL", key: "log.level" });
    expect(problem?.message).toContain('"loud" can\'t be used');
    expect(others).toEqual([]);
    expect(problemsIn("log:\n  level: loud\n", { LOG_LEVEL: "info" })).toEqual([]);
    expect(problemsIn("log:\n  level: loud\n")[0]?.place).toMatch(/remora\.yaml:2$/);
  });

  test("a port that is none is a problem that names the variable", () => {
    expect(problemsIn("", { REMORA_PORT: "http" })[0]?.place).toBe("REMORA_PORT");
  });

  test("keys and tokens are known as secrets", () => {
    const { secrets } = settingsOf("", { ANTHROPIC_API_KEY: "key-one-two-three", DISCORD_TOKEN: "token-four-five" });
    expect(secrets).toEqual([
      { name: "ANTHROPIC_API_KEY", value: "key-one-two-three" },
      { name: "DISCORD_TOKEN", value: "token-four-five" },
    ]);
  });

  test("what the settings of skills call a token, a key or a password is known as a secret", () => {
    const yaml = `
skills:
  settings:
    mcp:
      servers:
        hub: { command: npx, args: [x], env: { HUB_TOKEN: "\${HUB_TOKEN}", NODE_ENV: production } }
        web: { url: "https://example.com", headers: { Authorization: Bearer four-five-six } }
`;
    const { secrets } = settingsOf(yaml, { HUB_TOKEN: "one-two-three" });
    expect(secrets.map(({ value }) => value)).toEqual(["one-two-three", "Bearer four-five-six", "four-five-six"]);
    expect(secrets.every(({ name }) => name.startsWith("skills.settings."))).toBe(true);
  });

  test("headers that the proxy adds for commands are secrets, whatever they are called", () => {
    const yaml = 'sandbox: { network: { secrets: { git.example: { Cookie: "session=${GIT_COOKIE}" } } } }';
    const { secrets } = settingsOf(yaml, { GIT_COOKIE: "one-two-three" });
    expect(secrets).toEqual([{ name: "sandbox.network.secrets.git.example.Cookie", value: "session=one-two-three" }]);
  });

  test("skill folders come after the shipped ones, and those of the environment last", () => {
    const { skillRoots } = settingsOf("skills:\n  folders: [/c, more]\n", {
      REMORA_SKILLS: "/a:/b",
      REMORA_WORKSPACE: "/home",
    });
    expect(skillRoots).toEqual([
      join(project, "skills"),
      "/home/skills",
      join(project, ".agents/skills"),
      "/home/.agents/skills",
      "/c",
      join(project, "more"),
      "/a",
      "/b",
    ]);
  });
});

test("any text as a file gives settings or problems, and never throws", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (source) => {
      const result = load(source);
      if (result.type === "invalid") expect(result.problems.length).toBeGreaterThan(0);
    }),
    { numRuns: runs(300) },
  );
});

describe("secrets in files", () => {
  const fileWith = (text: string) => {
    const path = join(folder, "secret");
    writeFileSync(path, text);
    return path;
  };

  test("a variable with _FILE names a file with the value, without its last newline", () => {
    const settings = settingsOf("", { DISCORD_TOKEN_FILE: fileWith("token-one\n") });
    expect(settings.discord?.token).toBe("token-one");
    expect(settings.secrets).toContainEqual({ name: "DISCORD_TOKEN", value: "token-one" });
  });

  test("works for whatever the configuration uses", () => {
    const yaml = "skills: { settings: { web: { apiKey: '${MY_KEY}' } } }\n";
    expect(settingsOf(yaml, { MY_KEY_FILE: fileWith("key-two") }).secrets).toContainEqual(
      expect.objectContaining({ value: "key-two" }),
    );
  });

  test("a file that is missing or empty, or a value that is set twice, is a problem that names the variable", () => {
    const places = (env: Environment) => problemsIn("", env).map(({ place, message }) => `${place} ${message}`);
    expect(places({ OPENAI_API_KEY_FILE: join(folder, "none") })).toEqual([
      expect.stringMatching(/^OPENAI_API_KEY_FILE the file can't be read: ENOENT/),
    ]);
    expect(places({ REDIS_URL_FILE: fileWith("\n") })).toEqual([expect.stringContaining("is empty")]);
    expect(places({ REDIS_URL_FILE: folder })[0]).toContain("is not a file");
    expect(places({ DISCORD_TOKEN_FILE: fileWith("token-one\ntoken-two\n") })[0]).toContain("has several lines");
    expect(places({ DISCORD_TOKEN_FILE: fileWith("x".repeat(70_000)) })[0]).toContain("has more than 64 KiB");
    expect(places({ REDIS_URL: "redis://a", REDIS_URL_FILE: fileWith("redis://b") })).toEqual([
      expect.stringContaining("REDIS_URL is set too"),
    ]);
  });
});

describe("keys and tokens", () => {
  const secret = "SECRET";
  const written = {
    line: "SECRET1\nSECRET2",
    space: "SECRET1 SECRET2",
    quotes: "“SECRET”",
    control: "SECRET\u0007",
    accent: "SECRÉTSECRET",
  };
  const sources = (value: string): [place: string, yaml: string, env: Environment][] => {
    const path = join(folder, "secret");
    writeFileSync(path, value);
    return [
      ["OPENAI_API_KEY", "", { OPENAI_API_KEY: value }],
      ["OPENAI_API_KEY_FILE", "", { OPENAI_API_KEY_FILE: path }],
      ["DISCORD_TOKEN", "", { DISCORD_TOKEN: value }],
      ["SLACK_BOT_TOKEN_FILE", "", { SLACK_BOT_TOKEN_FILE: path, SLACK_APP_TOKEN: "xapp-1" }],
      ["REDIS_URL", "", { REDIS_URL: value }],
      ["remora.yaml:1", `models: { anthropic: { apiKey: ${JSON.stringify(value)} } }\n`, {}],
      [
        "remora.yaml:1",
        "transcription: { baseUrl: 'http://a.example', model: m, apiKey: '${MY_KEY}' }\n",
        { MY_KEY: value },
      ],
    ];
  };

  test.each(Object.entries(written))(
    "with a %s that no key has are a problem that names the place, not the value",
    (_what, value) => {
      for (const [place, yaml, env] of sources(value)) {
        const problems = problemsIn(yaml, env);
        expect(problems).toMatchObject([{ place: expect.stringContaining(place) }]);
        expect(formatProblems(problems)).toMatch(/(?:has several lines|has a .*)\. Copy it again, and write only/);
        expect(formatProblems(problems)).not.toContain(secret);
      }
    },
  );

  test("lose the blanks around them", () => {
    const { config, discord } = settingsOf("models: { anthropic: { apiKey: ' sk-one ' } }\n", {
      ...{ OPENAI_API_KEY: " sk-two\t", DISCORD_TOKEN: " three \n", ANTHROPIC_API_KEY: "  " },
    });
    expect([config.models.anthropic.apiKey, config.models.openai.apiKey, discord?.token]).toEqual([
      "sk-one",
      "sk-two",
      "three",
    ]);
  });

  test("keys and tokens of the wrong type are not shown in errors either", () => {
    const text = formatProblems(
      problemsIn("models: { openai: { apiKey: [SECRET] }, anthropic: [{ apiKey: SECRET }] }\n"),
    );
    expect(text).toContain("models.openai.apiKey: its value can't be used");
    expect(text).not.toContain(secret);
  });
});

describe("REMORA_MODEL", () => {
  test.each([
    ["gpt-6-luna", '"gpt-6-luna" is not written provider/model. Write openai/gpt-6-luna.'],
    ["claude-sonnet-5-5", "Write anthropic/claude-sonnet-5-5."],
    ["gemma3:4b", "Write ollama/gemma3:4b."],
    ["OpenAI/gpt-6-luna", "Write openai/gpt-6-luna."],
    ["“openai/gpt-6-luna”", "Write openai/gpt-6-luna."],
    ["openai/ gpt-6-luna", "Write openai/gpt-6-luna."],
    ["openai/", '"openai/" names no model. Write openai/gpt-6-luna.'],
    ["OLLAMA", "Write ollama/MODEL."],
    [
      "google/gemini-3.6-flash",
      "Write openai/google/gemini-3.6-flash. The provider is anthropic, openai, ollama or demo",
    ],
    ["/", "is not written provider/model"],
  ])("as %s stops the start, and the problem says what to write", (value, message) => {
    expect(problemsIn("", { REMORA_MODEL: value })).toEqual([
      { place: "REMORA_MODEL", key: "", message: expect.stringContaining(message) },
    ]);
  });

  test.each([
    ["demo", "demo"],
    ["demo/phrases", "demo/phrases"],
    ["ollama", "ollama"],
    ["openai/openai/gpt-oss-120b", "openai/openai/gpt-oss-120b"],
    ["ollama/hf.co/a/B:Q4_K_M", "ollama/hf.co/a/B:Q4_K_M"],
    [" openai/gpt-6-luna ", "openai/gpt-6-luna"],
    ["'openai/gpt-6-luna'", "openai/gpt-6-luna"],
  ])("may be %s", (value, meant) => {
    expect(settingsOf("", { REMORA_MODEL: value }).preferredModel).toBe(meant);
  });

  test("REMORA_MODEL and addresses lose the blanks and quotes around them", () => {
    const { models } = settingsOf("models: { anthropic: { baseUrl: ' http://a.example ' } }\n", {
      ...{ OPENAI_BASE_URL: "http://b.example/v1 ", OLLAMA_HOST: '"http://c.example"' },
    }).config;
    const { anthropic, openai, ollama } = models;
    expect([anthropic.baseUrl, openai.baseUrl, ollama.host]).toEqual([
      ...["http://a.example", "http://b.example/v1", "http://c.example"],
    ]);
  });
});

describe("folders for tools", () => {
  test("can't be those with Remora's own data and configuration", () => {
    const data = join(folder, "data");
    const inReach = (path: string) =>
      problemsIn(`folders: { "local:channel:general": ${path} }\n`, { REMORA_DATA: data });
    for (const path of [data, folder, join(data, "skills")]) {
      expect(inReach(path)[0]).toMatchObject({ key: "folders.local:channel:general" });
    }
    expect(inReach(join(folder, "checkout"))).toEqual([]);
    expect(problemsIn(`sandbox: { readable: [${data}] }\n`, { REMORA_DATA: data })).toHaveLength(1);
    expect(problemsIn(`sandbox: { readable: [${folder}] }\n`, { REMORA_DATA: data })).toEqual([]);
  });

  /** An installation with folders of skills that exist or not, and ways to write the same folder differently. */
  function installation() {
    const at = (...names: string[]) => join(folder, "home", ...names);
    for (const path of ["workspace/skills/mine", "workspace/brain/motor", "workspace/files", "team/skills", "site/a"])
      mkdirSync(at(path), { recursive: true });
    for (const [to, link] of [
      ["workspace/skills", "link"],
      ["later/skills", "dangling"],
      ["team/skills", "site/a/deep"],
    ] as const)
      symlinkSync(at(to), at(link));
    const env = { REMORA_WORKSPACE: at("workspace"), REMORA_DATA: at("data"), REMORA_SKILLS: at("later/skills/x") };
    const problems = (given: string) =>
      problemsIn(
        `skills: { folders: [${at("team/skills")}] }\nfolders: { "slack:T1:C1": ${JSON.stringify(given)} }\n`,
        env,
      );
    return { at, problems, env };
  }

  test("can't be at, in or above a folder of skills or of the agent's own memory, whatever way they are written", () => {
    const { at, problems } = installation();
    const refused = [
      ...["workspace", "workspace/skills", "workspace/skills/mine", "workspace/skills/new", "workspace/brain/motor"],
      ...[
        "team",
        "team/skills",
        "team/skills/a/b",
        "later",
        "later/skills",
        "later/skills/x/y",
        "workspace/drafts/open",
      ],
      ...["link", "link/mine", "dangling", "dangling/x", "site/a/deep", "site/../link", "workspace/.agents/skills"],
      ...["LATER/Skills/x", "workspace/./skills//mine/", "site/a/deep/../skills", "site/a/deep/../../workspace/skills"],
    ];
    for (const path of refused) expect(problems(at("").concat("/", path)), path).toHaveLength(1);
    expect(problems(at("link"))[0]).toEqual({
      place: expect.stringMatching(/remora\.yaml:2$/),
      key: "folders.slack:T1:C1",
      message: `tools would work in ${at("link")}, but skills are loaded from ${at("workspace/skills")}, so a file that is kept there could act in every conversation. Choose another folder for one of them.`,
    });
    for (const path of [
      "site",
      "site/a",
      "workspace/files/x",
      "workspace/knowledge",
      "teams",
      "workspace/skills2",
      "later2",
    ])
      expect(problems(at(path)), path).toEqual([]);
  });

  test("hold no folder of skills either, if the settings name the skills' folder later", () => {
    const { at, env } = installation();
    const named = problemsIn(`skills: { folders: [${at("workspace/files/general/skills")}] }\n`, env);
    expect(named).toMatchObject([
      { key: "skills.folders.0", message: expect.stringContaining("Choose another folder") },
    ]);
    const byVariable = problemsIn("", { ...env, REMORA_SKILLS: at("workspace/files/general") });
    expect(byVariable).toMatchObject([{ place: "REMORA_SKILLS" }]);
  });

  test("folders of skills are recognised through any chain of links, dots and case of names that do not exist yet", () => {
    const { at, problems } = installation();
    const step = fc.constantFrom("", ".", "../home", "site/..", "link/../..", "workspace/skills/mine/../../..");
    const inside = fc.constantFrom(
      "workspace/skills",
      "link",
      "dangling/X",
      "team/skills",
      "later/SKILLS/X",
      "site/a/deep",
    );
    const rest = fc.array(fc.constantFrom("new", ".", "x"), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), inside, rest, (steps, target, below) => {
        const path = [at(""), ...steps, target, ...below].join("/");
        expect(problems(path), path).toHaveLength(1);
      }),
      { numRuns: runs(500) },
    );
  });
});

test("a folder in a file system of the kernel is refused, because creating it would never end", () => {
  expect(problemsIn("", { REMORA_DATA: "/proc/../proc/remora" })).toMatchObject([
    { place: "REMORA_DATA", message: expect.stringContaining("file system of the kernel") },
  ]);
  expect(problemsIn("", { REMORA_DATA: "/process" })).toEqual([]);
});
