/** Which entries `list` finds by `dueBefore`: the state they must have, and the field of the body with the time (ms). */
export const dueFields = {
  schedule: { state: "active", field: "nextAt" },
  grant: { state: "active", field: "expiresAt" },
} as const;
export type DueKind = keyof typeof dueFields;

export function isDueKind(kind: string): kind is DueKind {
  return Object.hasOwn(dueFields, kind);
}
