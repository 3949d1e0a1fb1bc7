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
}

export function describeReadiness({ isStarted, redis, connected }: ReadinessFacts): Readiness {
  const down = connected.filter((platform) => !platform.health().isConnected);
  const problems = [
    ...(isStarted ? [] : ["starting"]),
    ...(redis === undefined || redis.isConnected ? [] : [`Redis: ${redis.detail}`]),
    ...down.map(healthLine),
  ];
  if (problems.length > 0) return { isReady: false, detail: problems.join("\n") };
  const services = connected.filter(({ name }) => name !== "local");
  return { isReady: true, detail: ["ready", ...services.map(healthLine)].join("\n") };
}

function healthLine(platform: Platform): string {
  return `${platform.name}: ${platform.health().detail}`;
}
