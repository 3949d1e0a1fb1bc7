/**
 * The schema of `config/remora.yaml`. A test checks that the shipped file contains exactly the defaults. The file is over
 * 250 lines because it lists every setting.
 */
import { z } from "zod";
import { tokenFormProblem } from "../lib/text/clean-token.ts";
import { web } from "./web-schema.ts";

const milliseconds = z.number().int().min(0).max(86_400_000);
const count = z.number().int().min(1);
const text = z.string().trim().min(1);
export const providerNames = ["anthropic", "openai", "ollama", "demo"] as const;
const optionalText = text.nullable().default(null);
/** Every key, whatever its source, so the environment's too. */
const optionalKey = z
  .string()
  .trim()
  .min(1)
  .superRefine((key, { addIssue }) => {
    const wrong = tokenFormProblem(key);
    if (wrong !== undefined) addIssue(`it ${wrong}. Copy it again, and write only the key`);
  })
  .nullable()
  .default(null);
const tokenLimit = count.nullable().default(null);
const dollarLimit = z.number().min(0).max(1_000_000).nullable().default(null);

/** Null: kept until people delete it. */
const days = count.max(36_500).nullable();
const price = z.number().min(0).max(1_000_000);
const modelPrice = z.strictObject({
  input: price,
  output: price,
  cacheRead: price.optional(),
  cacheWrite: price.optional(),
});

const thinkError = "write false to turn it off, true, low, medium, high or max, or null: Ollama decides";
/** As Ollama reads it: each number has a unit. */
const duration = /^-?(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const durationError =
  'write seconds, such as 1800, or a time with its unit, such as "30m"; -1: for ever; null: Ollama decides';

const concurrency = z.number().int().min(1).max(1_000).nullable().default(null);

const models = z
  .strictObject({
    order: z.array(z.enum(providerNames)).default([...providerNames]),
    maxOutputTokens: z.number().int().min(256).max(200_000).default(16_000),
    choices: z
      .array(text.regex(/^(?:anthropic|openai|ollama|demo)\/\S+$/, "a model is written provider/model"))
      .default([]),
    prices: z.record(z.string().regex(/^\S+\/\S+$/, "a model is written provider/model"), modelPrice).default({}),
    userIds: z.enum(["digest", "off"]).default("digest"),
    anthropic: z
      .strictObject({
        model: text.default("claude-sonnet-5-5"),
        effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullable().default(null),
        apiKey: optionalKey,
        baseUrl: optionalText,
        concurrency,
      })
      .prefault({}),
    openai: z
      .strictObject({
        model: text.default("gpt-6-luna"),
        api: z.enum(["auto", "responses", "chat"]).default("auto"),
        effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullable().default(null),
        apiKey: optionalKey,
        baseUrl: optionalText,
        concurrency,
      })
      .prefault({}),
    ollama: z
      .strictObject({
        model: optionalText,
        host: optionalText,
        contextTokens: z.number().int().min(2_048).max(2_000_000).nullable().default(null),
        think: z
          .union([z.boolean(), z.enum(["low", "medium", "high", "max"])], thinkError)
          .nullable()
          .default(null),
        keepAlive: z
          .union([z.number().int(), text.regex(duration, durationError)], durationError)
          .nullable()
          .default("30m"),
        concurrency,
      })
      .prefault({}),
    timeouts: z
      .strictObject({
        connectMs: milliseconds.default(10_000),
        firstTokenMs: milliseconds.nullable().default(null),
        idleMs: milliseconds.nullable().default(null),
      })
      .prefault({}),
  })
  .prefault({});

const safety = z
  .strictObject({
    matching: z.enum(["extended", "exact"]).default("extended"),
    approvers: z.array(text).default(["requester"]),
    owners: z.array(text).default([]),
    quorum: count.max(20).default(1),
    notRequester: z.boolean().default(false),
    tools: z
      .record(
        z.string(),
        z.strictObject({
          approvers: z.array(text).optional(),
          quorum: count.max(20).optional(),
          notRequester: z.boolean().optional(),
        }),
      )
      .default({}),
    expiryMinutes: z.number().min(0.1).max(525_600).nullable().default(60),
    grantMinutes: z.number().min(1).max(1_440).default(30),
    notify: z.enum(["thread", "dm", "both", "off"]).default("thread"),
    notifyAtMost: count.max(50).default(5),
    openCards: count.max(100).default(5),
    sandbox: z.enum(["auto", "required", "off"]).default("auto"),
    shell: z.enum(["free", "ask"]).default("free"),
    changes: z
      .strictObject({ own: z.enum(["keep", "ask"]).default("keep"), given: z.enum(["ask", "keep"]).default("ask") })
      .prefault({}),
    undo: z.strictObject({ days: z.number().min(0).max(365).default(7), megabytes: count.default(1_000) }).prefault({}),
  })
  .prefault({});

const sandbox = z
  .strictObject({
    readable: z.array(text).default([]),
    network: z
      .strictObject({
        allow: z.array(text).default([]),
        always: z.array(text).default([]),
        secrets: z.record(z.string(), z.record(z.string(), text)).default({}),
      })
      .prefault({}),
  })
  .prefault({});

const turns = z
  .strictObject({
    overlap: z.enum(["queue", "steer", "interrupt"]).default("queue"),
    concurrency: count.max(10_000).default(100),
    steps: count.max(50).default(8),
    callsPerStep: count.max(1_000).default(32),
    refusals: count.max(50).default(3),
    messageCharacters: count.max(2_000_000).default(100_000),
  })
  .prefault({});

const answers = z
  .strictObject({
    footer: z.enum(["auto", "always", "off"]).default("auto"),
    cost: z.boolean().default(true),
    feedback: z.boolean().default(true),
  })
  .prefault({});

const tools = z
  .strictObject({
    retryMs: z.array(milliseconds).max(10).default([2_000, 6_000, 18_000]),
    concurrency: count.max(1_000).default(16),
    outputCharacters: z.number().int().min(1_000).max(1_000_000).default(30_000),
    define: z.enum(["on-demand", "all"]).default("on-demand"),
  })
  .prefault({});

const context = z
  .strictObject({
    tokens: z.number().int().min(2_000).max(2_000_000).default(32_000),
    compaction: z.enum(["cut", "model"]).default("cut"),
    layout: z.enum(["append", "exact"]).default("append"),
    historyIdleMinutes: z.number().positive().max(525_600).nullable().default(null),
    backfill: z
      .strictObject({
        messages: z.number().int().min(0).max(200).default(50),
        kilobytes: z.number().min(1).max(1_000).default(20),
        channelMessages: z.number().int().min(0).max(50).default(5),
        channelMinutes: z.number().positive().max(10_080).default(10),
      })
      .prefault({}),
    shares: z
      .strictObject({
        identity: z.number().min(0).max(100).default(15),
        prefrontal: z.number().min(0).max(100).default(10),
        memory: z.number().min(0).max(100).default(30),
        skills: z.number().min(0).max(100).default(20),
        history: z.number().min(0).max(100).default(25),
      })
      .refine((shares) => Object.values(shares).reduce((sum, share) => sum + share, 0) === 100, {
        message: "the shares must add up to 100",
      })
      .prefault({}),
  })
  .prefault({});

/** If `allow` is null, every skill is allowed unless it is denied. */
const skillAccess = { allow: z.array(text).nullable().default(null), deny: z.array(text).default([]) };

const skills = z
  .strictObject({
    folders: z.array(text).default([]),
    inProcess: z.array(text).default([]),
    ...skillAccess,
    conversations: z.record(z.string(), z.strictObject(skillAccess)).default({}),
    settings: z.record(z.string(), z.record(z.string(), z.json())).default({}),
  })
  .prefault({});

/** Null means everyone; an empty list means nobody. */
const listed = z.array(text).nullable().default(null);
const access = {
  users: listed,
  roles: listed,
  channels: listed,
  dms: z.enum(["open", "pairing", "closed"]).default("open"),
  bots: z.array(text).default([]),
  botTurns: count.max(100).default(3),
};

const discord = z
  .strictObject({
    replyIn: z.enum(["thread", "channel"]).default("thread"),
    ackReaction: optionalText,
    shards: z.union([z.literal("auto"), count.max(10_000)]).default(1),
    access: z.strictObject({ ...access, guilds: listed }).prefault({}),
  })
  .prefault({});

const slack = z
  .strictObject({
    ackReaction: optionalText,
    streaming: z.enum(["native", "edits"]).default("native"),
    directMessages: z.enum(["threads", "single"]).default("threads"),
    access: z
      .strictObject({
        ...access,
        workspaces: listed,
        guests: z.boolean().default(false),
        externals: z.boolean().default(false),
      })
      .prefault({}),
  })
  .prefault({});

const megabytes = count.max(100_000);
const files = z
  .strictObject({ maxMegabytes: megabytes.default(20), inboxMegabytes: megabytes.default(500) })
  .refine((limits) => limits.maxMegabytes <= limits.inboxMegabytes, {
    message: "a file must fit into the inbox: set inboxMegabytes to at least maxMegabytes",
    path: ["inboxMegabytes"],
  })
  .prefault({});

const embeddings = z
  .strictObject(
    {
      provider: z.enum(["openai", "ollama"], "write openai (or a server that is compatible with it) or ollama"),
      model: z.string({ error: "give the name of an embedding model" }).min(1, "give the name of an embedding model"),
      baseUrl: z
        .url({ protocol: /^https?$/, error: "give an http(s) address, or null" })
        .nullable()
        .default(null),
      apiKey: optionalKey,
      dimensions: z
        .int("give a whole number, or null")
        .min(8, "at least 8")
        .max(16_384, "at most 16384")
        .nullable()
        .default(null),
    },
    "give provider and model, or null",
  )
  .nullable()
  .default(null);

/** Null turns it off. */
const transcription = z
  .strictObject(
    {
      baseUrl: z.url({ protocol: /^https?$/, error: "use the server's address, such as http://127.0.0.1:8000/v1" }),
      model: z.string({ error: "give the name of a model" }).min(1, "give the name of a model"),
      apiKey: optionalKey,
      language: z
        .string()
        .regex(/^[a-z]{2,3}$/, "use the code of a language, such as en, de or es; null: the server detects it")
        .nullable()
        .default(null),
    },
    "give baseUrl and model, or null",
  )
  .nullable()
  .default(null);

export const configSchema = z.strictObject({
  models,
  safety,
  sandbox,
  turns,
  answers,
  tools,
  context,
  skills,
  limits: z
    .strictObject({
      userRequestsPerMinute: count.max(10_000).nullable().default(30),
      channelRequestsPerMinute: count.max(10_000).nullable().default(120),
      userTokensPerDay: tokenLimit,
      channelTokensPerDay: tokenLimit,
      dollars: z
        .strictObject({
          turn: dollarLimit,
          user: dollarLimit,
          channel: dollarLimit,
          scheduleRun: dollarLimit,
          schedule: dollarLimit,
          step: z.number().min(0.01).max(1_000_000).default(2),
          unpriced: z.enum(["refuse", "allow"]).default("refuse"),
        })
        .prefault({}),
    })
    .prefault({}),
  retention: z
    .strictObject({
      historyDays: days.default(180),
      taskFileDays: days.default(90),
      outputDays: days.default(30),
      snapshotDays: days.default(30),
      folderDays: days.default(365),
    })
    .prefault({}),
  memory: z.strictObject({ retentionDays: count.nullable().default(null), embeddings }).prefault({}),
  chatLog: z
    .strictObject({
      enabled: z.boolean().default(true),
      retentionDays: count.max(3_650).default(90),
      megabytes: count.max(100_000).default(500),
      exclude: z
        .array(
          text.regex(
            /^(?:slack:[A-Z][A-Z0-9]+|discord:\d+|local:\w[\w-]*)$/,
            "write a channel as slack:C0123, discord:ID or local:NAME, with its id on Slack and Discord, not its name",
          ),
        )
        .default([]),
    })
    .prefault({}),
  events: z.strictObject({ retentionDays: count.default(30) }).prefault({}),
  folders: z.record(z.string(), text).default({}),
  files,
  transcription,
  health: z
    .strictObject({
      minFreeMegabytes: z.number().int().min(0).max(1_000_000).default(100),
      everySeconds: z.number().min(0.1).max(3_600).default(30),
      modelCall: z.boolean().default(true),
    })
    .prefault({}),
  web,
  discord,
  slack,
  redis: z
    .strictObject({
      prefix: z
        .string()
        .regex(/^[\w.-]{1,50}$/, "use letters, digits, dots, dashes and underscores")
        .default("remora"),
      lockMs: z.number().int().min(1_000).max(300_000).default(10_000),
      waitMs: z.number().int().min(500).max(300_000).default(20_000),
    })
    .prefault({}),
  local: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
  log: z
    .strictObject({
      level: z.enum(["trace", "debug", "info", "warn", "error"]).default("info"),
      keepDays: z.number().int().min(0).max(3_650).default(14),
    })
    .prefault({}),
  tracing: z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/, error: "use the collector's address, such as http://127.0.0.1:4318" })
        .nullable()
        .default(null),
      headers: z
        .string()
        .refine(isHeaderList, "write name=value, several separated by commas, percent-encoded")
        .nullable()
        .default(null),
      serviceName: text.default("remora"),
    })
    .prefault({}),
  shutdown: z.strictObject({ graceMs: milliseconds.default(10_000) }).prefault({}),
});

/** As in OTEL_EXPORTER_OTLP_HEADERS. */
function isHeaderList(list: string): boolean {
  return list.split(",").every((pair) => /^\s*[\w-]+\s*=(?:[ -$&-~]|%[\da-fA-F]{2})*$/.test(pair));
}

export type Config = z.infer<typeof configSchema>;
