/** Who makes a request to the web server. */
import type { Author } from "./message.ts";

/** Each role may do what the roles before it may do. */
export const dashboardRoles = ["viewer", "approver", "operator"] as const;
export type DashboardRole = (typeof dashboardRoles)[number];

/** `account` is a local account with a password; `oidc` a person of the configured identity provider. */
export type IdentityPlatform = "slack" | "discord" | "oidc" | "account";

export interface SignedInPerson {
  platform: IdentityPlatform;
  id: string;
  /** One line, without hidden characters. Names prove nothing. */
  name: string;
}

/** `machine` has the token of the link, and acts as the operator. */
export type Visitor =
  | { type: "machine" }
  | { type: "person"; person: SignedInPerson; role: DashboardRole; sessionId: string; csrfToken: string };

export function isAtLeast(role: DashboardRole, least: DashboardRole): boolean {
  return dashboardRoles.indexOf(role) >= dashboardRoles.indexOf(least);
}

export function identityOf({ platform, id }: Pick<SignedInPerson, "platform" | "id">): string {
  return `${platform}:${id}`;
}

export function authorOf({ id, name }: SignedInPerson): Author {
  return { id, name, isBot: false, roles: [] };
}

/** Whether the visitor sees everything, as the person at the machine does. */
export function isOperator(visitor: Visitor): boolean {
  return visitor.type === "machine" || visitor.role === "operator";
}
