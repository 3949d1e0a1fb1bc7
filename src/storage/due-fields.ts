/** Which entries `list` finds by `dueBefore`: the states they must have, and the field of the body with the time (ms). */
export const dueFields = {
  schedule: { states: ["active"], field: "nextAt" },
  grant: { states: ["active"], field: "expiresAt" },
  approval: { states: ["open", "approved"], field: "expiresAt" },
  card: { states: ["made"], field: "nextCheckAt" },
  turn: { states: ["parked"], field: "wokenAt" },
} as const;
export type DueKind = keyof typeof dueFields;

export function isDueKind(kind: string): kind is DueKind {
  return Object.hasOwn(dueFields, kind);
}
