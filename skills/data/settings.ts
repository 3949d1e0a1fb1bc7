/**
 * The settings of the data skill, `skills.settings.data` in config/remora.yaml:
 *
 *   megabytes  the maximum size of all files of one call together
 *   seconds    the time limit of one call, including reading files
 *   fonts      font files for characters that the charts' font lacks, such as Chinese
 */
import { z } from "zod";
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import type { JsonObject } from "../../src/plugin-sdk/plugin.ts";

const usualFonts = [
  "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
  "/usr/share/fonts/truetype/noto/NotoSansArabic-Regular.ttf",
  "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
  "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
  "/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
  "C:\\Windows\\Fonts\\msyh.ttc",
];

const settingsSchema = z.strictObject({
  megabytes: z.number().min(0.001).max(1_000).default(64),
  seconds: z.number().min(0.5).max(100).default(30),
  fonts: z.array(z.string().min(1)).default(usualFonts),
});

export type DataSettings = z.infer<typeof settingsSchema>;

export function readSettings(config: JsonObject): DataSettings {
  const { data, error } = settingsSchema.safeParse(config);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  const place = ["skills.settings.data", ...(issue?.path ?? [])].join(".");
  throw new RemoraError({ code: "data.settings", place, message: issue?.message ?? "is wrong" });
}
