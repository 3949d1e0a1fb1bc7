/** Who looks at the dashboard, and what the browser needs to make changes. */
import type { Hono } from "hono";
import { z } from "zod";
import { type DashboardRole, identityOf } from "../../ports/visitor.ts";
import { reading } from "./respond.ts";

export interface MeData {
  /** Null for the person at the machine, who can't sign out. */
  name: string | null;
  identity: string | null;
  role: DashboardRole;
  /** Goes into the header `x-remora-csrf` of each change. */
  csrfToken: string | null;
}

export function mountMe(app: Hono): void {
  reading(app, "/dashboard/data/me", z.object({}), async (_input, visitor): Promise<MeData> => {
    if (visitor.type === "machine") return { name: null, identity: null, role: "operator", csrfToken: null };
    const { person, role, csrfToken } = visitor;
    return { name: person.name, identity: identityOf(person), role, csrfToken };
  });
}
