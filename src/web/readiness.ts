import { checkText, type HealthCheck } from "../ports/health.ts";
import type { Platform } from "../ports/platform.ts";

export interface Readiness {
  isReady: boolean;
  /** One line per fact. */
  detail: string;
}

interface ReadinessFacts {
  isStarted: boolean;
  /** Undefined if Redis is not used. */
  redis: { isConnected: boolean; detail: string } | undefined;
  connected: readonly Platform[];
  checks: readonly HealthCheck[];
}

export function describeReadiness({ isStarted, redis, connected, checks }: ReadinessFacts): Readiness {
  const down = connected.filter((platform) => !platform.health().isConnected);
  const problems = [
    ...(isStarted ? [] : ["starting"]),
    ...(redis === undefined || redis.isConnected ? [] : [`Redis: ${redis.detail}`]),
    ...down.map(healthLine),
    ...linesOf(checks, "broken"),
  ];
  if (problems.length > 0) return { isReady: false, detail: problems.join("\n") };
  const services = connected.filter(({ name }) => name !== "local");
  return { isReady: true, detail: ["ready", ...services.map(healthLine), ...linesOf(checks, "warning")].join("\n") };
}

function linesOf(checks: readonly HealthCheck[], state: HealthCheck["state"]): string[] {
  return checks.filter((check) => check.state === state).map((check) => `${check.name}: ${checkText(check)}`);
}

function healthLine(platform: Platform): string {
  return `${platform.name}: ${platform.health().detail}`;
}
