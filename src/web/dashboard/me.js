/** Who looks at the dashboard. Until it is known, nothing but reading is possible. */
import { load, useToken } from "./session.js";

/** Each may do what those before it may do. */
const roles = ["viewer", "approver", "operator"];
export const me = { name: null, identity: null, role: "viewer", csrfToken: null };

/** Resolves to a sentence if it could not be loaded. */
export async function loadMe() {
  const { data, problem } = await load("/dashboard/data/me");
  if (data !== undefined) {
    Object.assign(me, data);
    useToken(data.csrfToken);
  }
  return problem;
}

export function isAtLeast(role) {
  return roles.indexOf(me.role) >= roles.indexOf(role);
}
