/** The settings in force, and where each comes from. They are changed in the file. */
import type { Hono } from "hono";
import { z } from "zod";
import { reading } from "./respond.ts";

export interface ShownSettings {
  configFile: string;
  settings: {
    key: string;
    value: string;
    source: "default" | "file" | "environment";
    place: string;
    isDefault: boolean;
  }[];
}

export function mountSettings(app: Hono, shown: () => ShownSettings): void {
  reading(app, "/dashboard/data/settings", z.object({}), async () => shown());
}
