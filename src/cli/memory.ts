/** `remora memory search`. With `--batch`, each input line `{query, scope, limit}` gets an array or `{error}`. */
import { z } from "zod";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { createFileOrder } from "../lib/file-order.ts";
import { createMemoryDesk } from "../memory/memory-desk.ts";
import type { Memory, MemoryHit } from "../ports/memory.ts";

import type { MemoryScope } from "../ports/message.ts";
import { installProxies } from "../proxy/install.ts";
import { readJsonLines } from "./json-lines.ts";
import { openMemory } from "./open-memory.ts";
import { settingsFor } from "./settings.ts";

interface SearchedMemory extends Pick<Memory, "search"> {
  scopes(): MemoryScope[];
}

interface SearchOptions {
  scope: string;
  limit: string;
  json?: boolean;
  batch?: boolean;
}

const oneScope = z.custom<MemoryScope>(
  (value) => typeof value === "string" && /^(?:shared|(?:dm|channel):[\s\S]+)$/.test(value),
  "a scope is dm:<user>, channel:<id>, shared or all",
);
const scopeSchema = z.union([z.literal("all"), oneScope], {
  error: "a scope is dm:<user>, channel:<id>, shared or all",
});
const querySchema = z.object({
  query: z.string(),
  scope: scopeSchema.default("shared"),
  limit: z.coerce
    .number()
    .int("a limit is a whole number")
    .min(1, "a limit is at least 1")
    .max(1_000, "a limit is at most 1000")
    .default(10),
});

export async function memorySearchCommand(
  env: Environment,
  root: string,
  query: string | undefined,
  options: SearchOptions,
): Promise<void> {
  const settings = settingsFor(env, root);
  await installProxies(settings.proxies);
  const opened = await openMemory(settings);
  const memory: SearchedMemory = { search: opened.search, scopes: () => scopesIn(settings.workspace) };
  try {
    if (options.batch) await answerLines(memory);
    else await answerOne(memory, query, options);
  } finally {
    await opened.close();
  }
}

/** Every scope that has files: the operator can read all of them. */
function scopesIn(workspace: string): MemoryScope[] {
  const desk = createMemoryDesk({ workspace, inOrder: createFileOrder(workspace), redact: (text) => text });
  return [...new Set<MemoryScope>([...desk.scopes().map(({ scope }) => scope as MemoryScope), "shared"])];
}

async function answerOne(
  memory: SearchedMemory,
  query: string | undefined,
  { scope, limit, json }: SearchOptions,
): Promise<void> {
  if (query === undefined) {
    throw new RemoraError({
      code: "cli.no-query",
      place: "memory search",
      message: "give a query, or use --batch",
    });
  }
  const parsed = querySchema.safeParse({ query, scope, limit });
  if (!parsed.success)
    throw new RemoraError({ code: "cli.bad-query", place: "memory search", message: zodSentence(parsed.error) });
  const hits = await find(memory, parsed.data);
  process.stdout.write(json ? `${JSON.stringify(hits, null, 1)}\n` : describe(hits, parsed.data.scope));
}

async function answerLines(memory: SearchedMemory): Promise<void> {
  for await (const line of readJsonLines(process.stdin)) {
    const parsed = "problem" in line ? line.problem : querySchema.safeParse(line.value);
    if (typeof parsed !== "string" && parsed.success) {
      process.stdout.write(`${JSON.stringify(await find(memory, parsed.data))}\n`);
      continue;
    }
    process.exitCode = 1;
    const error = typeof parsed === "string" ? parsed : `line ${line.number}: ${zodSentence(parsed.error)}`;
    process.stdout.write(`${JSON.stringify({ error })}\n`);
  }
}

async function find(
  memory: SearchedMemory,
  { query, scope, limit }: z.infer<typeof querySchema>,
): Promise<Omit<MemoryHit, "origins">[]> {
  const scopes = scope === "all" ? memory.scopes() : [...new Set<MemoryScope>([scope, "shared"])];
  const hits = await memory.search({ query, scopes, limit });
  return hits.map(({ path, heading, at, scope: found, score, text }) => ({
    path,
    heading,
    at,
    scope: found,
    score,
    text,
  }));
}

function zodSentence(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

function describe(hits: Omit<MemoryHit, "origins">[], scope: MemoryScope | "all"): string {
  if (hits.length === 0) {
    return scope === "all" ? "Nothing found.\n" : `Nothing found in ${scope}. To search everywhere: --scope all\n`;
  }
  return hits
    .map(
      ({ path, heading, at, scope: found, score, text }) =>
        `${score.toPrecision(2)}  ${found}  ${at}  ${path}\n      ${heading}\n${indent(text)}\n`,
    )
    .join("\n");
}

function indent(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line) => `      ${line}`)
    .join("\n");
}
