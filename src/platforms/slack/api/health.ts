/** Slack's state in one line that tells a person what to do: first the connection, then open problems. */
import { elapsedSince } from "../../../lib/elapsed.ts";
import type { RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { PlatformHealth } from "../../../ports/platform.ts";
import { isTokenProblem } from "./api-problems.ts";
import { scopesAdvice } from "./manifest.ts";

export interface Health {
  connected(as: string): void;
  disconnected(why: string): void;
  /** Call this after every successful call, which proves that the token is valid. */
  tokenTaken(): void;
  problem(problem: RemoraError): void;
  /** Slack refused a message for a reason that has nothing to do with its place. Shown for a while. */
  refused(problem: RemoraError): void;
  /** Slack has dropped events. Shown for a while. */
  dropped(): void;
  /** The scopes that the token lacks. */
  lacks(scopes: readonly string[]): void;
  clock(skewMs: number | undefined): void;
  /** Undefined if nothing is missing. */
  missing(text: string | undefined): void;
  now(): PlatformHealth;
}

/** Signatures fail if the clocks differ by five minutes, so a difference of one minute is reported. */
const minReportedSkewMs = 60_000;
const maxProblems = 10;
/** What passes is shown for this long after it last happened. */
const shownMs = 3_600_000;
const isRecent = (at: number) => elapsedSince(at) <= shownMs;
const droppedText =
  "Slack left out events, because this workspace has more than 30,000 in an hour. What it left out is fetched some minutes late. Invite me to fewer busy channels";

export function createHealth(log: Log): Health {
  let connection: { isConnected: boolean; text: string } = { isConnected: false, text: "not connected yet" };
  let tokenProblem: string | undefined;
  let clockProblem: string | undefined;
  let scopeProblem: string | undefined;
  let missingText: string | undefined;
  const problems = new Map<string, string>();
  let droppedAt = Number.NEGATIVE_INFINITY;
  let refused: { text: string; at: number } | undefined;

  return {
    connected(as) {
      connection = { isConnected: true, text: as };
      tokenProblem = undefined;
    },
    tokenTaken() {
      tokenProblem = undefined;
    },
    disconnected(why) {
      connection = { isConnected: false, text: why };
    },
    problem(problem) {
      if (isTokenProblem(problem)) {
        if (tokenProblem !== problem.message) log.error({ code: problem.code }, problem.message);
        tokenProblem = problem.message;
      } else if (!problems.has(problem.message) && problems.size < maxProblems) {
        log.error({ code: problem.code }, problem.message);
        problems.set(problem.message, problem.message);
      }
    },
    refused(problem) {
      const text = `Slack refused a message: ${problem.message}`;
      if (refused?.text !== text) log.error({ code: problem.code }, text);
      refused = { text, at: Date.now() };
    },
    dropped() {
      if (!isRecent(droppedAt)) log.warn({}, droppedText);
      droppedAt = Date.now();
    },
    lacks(scopes) {
      const before = scopeProblem;
      scopeProblem = scopes.length === 0 ? undefined : `the bot token lacks ${scopes.join(", ")}: ${scopesAdvice}`;
      if (scopeProblem !== undefined && scopeProblem !== before) log.error({ scopes }, scopeProblem);
    },
    clock(skewMs) {
      clockProblem = clockText(skewMs);
      if (clockProblem !== undefined) log.warn({ skewMs }, clockProblem);
    },
    missing(text) {
      missingText = text;
    },
    now() {
      // With a token that Slack refuses, an open socket says nothing.
      const line = tokenProblem !== undefined && connection.isConnected ? undefined : connection.text;
      const recent = refused !== undefined && isRecent(refused.at) ? refused.text : undefined;
      const dropped = isRecent(droppedAt) ? droppedText : undefined;
      const texts = [
        tokenProblem,
        line,
        scopeProblem,
        clockProblem,
        missingText,
        recent,
        dropped,
        ...problems.values(),
      ];
      return {
        isConnected: connection.isConnected && tokenProblem === undefined,
        detail: texts.filter((text) => text !== undefined).join("; "),
      };
    },
  };
}

export function clockText(skewMs: number | undefined): string | undefined {
  if (skewMs === undefined || Math.abs(skewMs) < minReportedSkewMs) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const where = skewMs > 0 ? "behind" : "ahead of";
  return `this machine's clock is ${seconds} s ${where} Slack's. Over HTTP, requests more than 300 s off are refused. Set the clock (NTP)`;
}
