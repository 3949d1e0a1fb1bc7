/**
 * What a backup says about itself. `remora-backup.json` is the archive's first entry: who wrote it, and when.
 * `manifest.json` is its last entry, so an archive without it was cut off.
 */
import { z } from "zod";

/** Increase this only if an older Remora could not restore the archive. */
export const formatVersion = 1;
export const headerName = "remora-backup.json";
export const manifestName = "manifest.json";

export const headerSchema = z.object({
  format: z.number().int(),
  remora: z.string(),
  createdAt: z.iso.datetime(),
  hasSecrets: z.boolean(),
  storage: z.enum(["sqlite", "redis"]),
});
export type BackupHeader = z.infer<typeof headerSchema>;

export const manifestSchema = z.object({
  files: z.array(z.object({ path: z.string(), size: z.number().int(), sha256: z.string() })),
  /** `user_version` of each database. */
  schemas: z.record(z.string(), z.number().int()),
  leftOut: z.array(z.object({ path: z.string(), reason: z.string() })),
});
export type BackupManifest = z.infer<typeof manifestSchema>;
export type LeftOut = BackupManifest["leftOut"][number];

/** The top folders of an archive. */
export const parts = ["data", "workspace", "config", "secrets", "redis"] as const;
export type Part = (typeof parts)[number];
