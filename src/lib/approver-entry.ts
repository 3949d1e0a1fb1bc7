export type Approver = { type: "user" | "role"; id: string };

/** `user:<id>` or `user:<platform>:<id>`, and the same for roles. Empty if the entry names nobody on the platform. */
export function approverOf(entry: string, platform: string): Approver[] {
  const [type, ...rest] = entry.split(":");
  if (type !== "user" && type !== "role") return [];
  const [id = "", ...more] = rest[0] === platform && rest.length > 1 ? rest.slice(1) : rest;
  return id === "" || more.length > 0 ? [] : [{ type, id }];
}

/** The people of a service among `owners`. Only people can get a direct message, so roles are left out. */
export function peopleAmong(owners: readonly string[], service: string): string[] {
  const people = owners.flatMap((entry) => approverOf(entry, service)).filter(({ type }) => type === "user");
  return [...new Set(people.map(({ id }) => id))];
}
