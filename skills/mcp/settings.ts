/** Reads `skills.settings.mcp`. Checks each server separately so that a mistake in one does not affect the others. */
import { z } from "zod";
import type { JsonObject } from "../../src/plugin-sdk/plugin.ts";

const text = z.string().min(1);
const texts = z.record(z.string(), z.string());
const toolNames = z.array(text).optional();

/** Accepts `disabled` and `type`, because other programs write them into their server lists. */
const common = {
  disabled: z.boolean().default(false),
  /** If absent, all tools are offered. */
  allow: toolNames,
  /** These tools run without approval. */
  trust: toolNames,
  /** Of these, the ones that only read although neither their names nor the server say so. */
  readOnly: toolNames,
  seconds: z.number().positive().max(86_400).default(120),
  /** Time limit for the server to become ready. Its first start may include a download. */
  connectSeconds: z.number().positive().max(3_600).default(60),
};

const program = z.strictObject({
  type: z.literal("stdio").optional(),
  command: text,
  args: z.array(z.string()).default([]),
  env: texts.default({}),
  cwd: text.optional(),
  ...common,
});

const address = z.strictObject({
  type: z.enum(["http", "streamable-http", "sse"]).optional(),
  url: z.url({ protocol: /^https?$/ }),
  headers: texts.default({}),
  ...common,
});

export type ProgramServer = z.infer<typeof program>;
export type AddressServer = z.infer<typeof address>;
export type ServerSettings = ProgramServer | AddressServer;

const serverName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;

export interface ReadSettings {
  servers: Map<string, ServerSettings>;
  /** Must not contain the value of a setting, because the value may be a secret. */
  problems: string[];
}

export function readSettings(config: JsonObject): ReadSettings {
  const servers = new Map<string, ServerSettings>();
  const problems = Object.keys(config)
    .filter((key) => key !== "servers")
    .map((key) => `skills.settings.mcp.${key} is unknown: use servers`);
  const listed = z.record(z.string(), z.unknown()).safeParse(config.servers ?? {});
  if (!listed.success) problems.push("skills.settings.mcp.servers must be a map from a name to { command } or { url }");
  for (const [name, written] of Object.entries(listed.data ?? {})) {
    const server = readServer(name, written);
    if (typeof server === "string") problems.push(`skills.settings.mcp.servers.${name}: ${server}`);
    else if (!server.disabled) servers.set(name, server);
  }
  return { servers, problems };
}

function readServer(name: string, written: unknown): ServerSettings | string {
  if (!serverName.test(name)) return "a server's name is 1 to 32 of A-Z a-z 0-9 _ -, starting with a letter or digit";
  const kind = z.looseObject({ command: z.unknown().optional(), url: z.unknown().optional() }).safeParse(written).data;
  const hasCommand = kind?.command !== undefined;
  if (hasCommand === (kind?.url !== undefined)) return "it needs either command (a program) or url (an address)";
  const read = hasCommand ? program.safeParse(written) : address.safeParse(written);
  if (read.success) return read.data;
  return read.error.issues.map(({ path, message }) => `${path.join(".")} ${message}`.trim()).join("; ");
}
