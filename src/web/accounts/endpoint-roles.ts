/**
 * The least role that each endpoint needs. What is not listed is refused to everybody who has signed in; only the person at
 * the machine reaches it. A test walks every registered route and compares.
 */
import type { DashboardRole } from "../../ports/visitor.ts";

interface EndpointRule {
  method: "GET" | "POST" | "PATCH" | "DELETE" | "PUT";
  /** `:name` stands for one part of the path, `*` at the end for any rest. */
  path: string;
  least: DashboardRole;
}

const get = (path: string, least: DashboardRole): EndpointRule => ({ method: "GET", path, least });
const post = (path: string, least: DashboardRole): EndpointRule => ({ method: "POST", path, least });

const endpointRules: readonly EndpointRule[] = [
  // Each of these answers with what the role may see.
  get("/dashboard/data", "viewer"),
  get("/dashboard/data/me", "viewer"),
  get("/dashboard/data/health", "viewer"),
  get("/dashboard/data/usage", "viewer"),
  get("/dashboard/data/schedules", "viewer"),
  post("/sign-out", "viewer"),
  post("/sign-out/everywhere", "viewer"),
  // Under the rules of the chat: only who may answer a card answers it and reads its diff.
  post("/dashboard/answers", "approver"),
  get("/dashboard/diffs/:id", "approver"),
  get("/dashboard/data/turns", "operator"),
  get("/dashboard/data/turns/:id", "operator"),
  get("/dashboard/data/turns/:id/log", "operator"),
  get("/dashboard/data/turns/:id/prompts/:step", "operator"),
  get("/dashboard/data/grants", "operator"),
  get("/dashboard/data/memory/:page", "operator"),
  get("/dashboard/data/skills", "operator"),
  get("/dashboard/data/settings", "operator"),
  post("/dashboard/turns/stop", "operator"),
  post("/dashboard/grants/end", "operator"),
  post("/dashboard/schedules/end", "operator"),
  post("/dashboard/memory/correct", "operator"),
  post("/dashboard/memory/delete", "operator"),
  post("/dashboard/skills/turn", "operator"),
  post("/dashboard/skills/reload", "operator"),
  // Files without data.
  get("/dashboard", "viewer"),
  get("/dashboard/pages/:file", "viewer"),
  get("/dashboard/vendor/*", "viewer"),
  get("/dashboard/:file", "viewer"),
];

/** Undefined means that nobody who has signed in may use it. */
export function leastRoleFor(method: string, path: string): DashboardRole | undefined {
  const asked = method === "HEAD" ? "GET" : method;
  return endpointRules.find((rule) => rule.method === asked && fits(rule.path, path))?.least;
}

function fits(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.at(-1) === "*")
    return given.length >= wanted.length && wanted.slice(0, -1).every((part, index) => part === given[index]);
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(":") ? given[index] !== "" : part === given[index]))
  );
}
