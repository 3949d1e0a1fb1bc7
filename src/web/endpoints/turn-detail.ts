/**
 * Everything about one turn: its report, which people can read too, and what only the operator sees: the whole messages
 * and answers, the prompts that the model saw, and the lines of the event log that name the turn.
 */
import type { Hono } from "hono";
import { z } from "zod";
import type { Mask } from "../../lib/redact.ts";
import { asPlain, oneLine } from "../../lib/text/sanitize.ts";
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { TurnReport, TurnReports } from "../../ports/turn-report.ts";
import { reading } from "./respond.ts";
import { doingOf } from "./turn-rows.ts";

export interface TurnDetail {
  report: TurnReport;
  /** What an active turn does now. */
  doing: { doing: string; since: number } | null;
  messages: { who: string; text: string; at: number; files: string[] }[];
  /** What the model wrote in each step. */
  texts: string[];
  /** Numbers of the steps whose prompts are still stored. */
  prompts: number[];
}

export interface TurnLog {
  lines: { at: string; event: string; fields: string }[];
  /** Continues the log if passed as `after`. Null at its end. */
  next: string | null;
}

export interface TurnDetailOptions {
  ledger: Ledger;
  mask: Mask;
  reports: Pick<TurnReports, "of">;
  prompts(turnId: string): Promise<{ step: number; read(): Promise<string> }[]>;
  log(wanted: { turnId: string; from: number; to: number; after?: string }): Promise<TurnLog>;
}

const maxTextCharacters = 20_000;
const maxNameCharacters = 200;
/** Events of a turn can follow its end, such as what memory saved. */
const logTailMs = 3_600_000;
const id = z.string().min(1).max(200);

export function mountTurnDetail(app: Hono, options: TurnDetailOptions): void {
  const { ledger } = options;
  reading(app, "/dashboard/data/turns/:id", z.object({ id }), async (wanted) => {
    const entry = await ledger.get("turn", wanted.id);
    return entry === undefined ? undefined : await describeTurn(entry, options);
  });
  const after = z
    .string()
    .max(200)
    .regex(/^[\w.-]+:\d{1,15}$/)
    .optional();
  reading(app, "/dashboard/data/turns/:id/log", z.object({ id, after }), async (wanted) => {
    const entry = await ledger.get("turn", wanted.id);
    if (entry === undefined) return undefined;
    const { startedAt, endedAt } = entry.body;
    const to = (endedAt ?? Date.now()) + logTailMs;
    const place = wanted.after === undefined ? {} : { after: wanted.after };
    return await options.log({ turnId: wanted.id, from: startedAt, to, ...place });
  });
  const promptSchema = z.object({ id, step: z.coerce.number().int().min(0).max(1_000) });
  reading(app, "/dashboard/data/turns/:id/prompts/:step", promptSchema, async (wanted) => {
    const prompts = await options.prompts(wanted.id);
    const found = prompts.find(({ step }) => step === wanted.step);
    return found === undefined ? undefined : { text: await found.read() };
  });
}

async function describeTurn(
  { body: turn, state }: LedgerEntry<"turn">,
  { mask, reports, prompts }: TurnDetailOptions,
): Promise<TurnDetail> {
  const shown = (text: string) => mask(asPlain(text)).slice(0, maxTextCharacters);
  const [report, stored] = await Promise.all([reports.of(turn, state), prompts(turn.id)]);
  return {
    report,
    doing: state === "running" || state === "parked" ? doingOf(turn, state) : null,
    messages: turn.messages.map(({ author, text, at, attachments }) => ({
      who: oneLine(author.name, maxNameCharacters),
      text: shown(text),
      at,
      files: attachments.map(({ name }) => oneLine(name, maxNameCharacters)),
    })),
    texts: turn.steps.map(({ text }) => shown(text)),
    prompts: stored.map(({ step }) => step),
  };
}
