/** Turns the options of a view into its mounts. */
import { stat } from "node:fs/promises";
import { isAbsolute, normalize, sep } from "node:path";
import { RemoraError } from "../../lib/errors.ts";
import { isInside } from "../../lib/is-inside.ts";
import type { ViewMount, ViewOptions } from "../../ports/sandbox.ts";
import { mountPoints } from "./machine-facts.ts";
import { maxLayers } from "./mount-steps.ts";
import type { ExtraMount } from "./mounts.ts";

/** The view creates these folders itself, so nothing may be mounted over or below them. */
const reserved = ["/", "/proc", "/dev", "/etc"];

/** Returns all mounts except the working folder's, which the caller adds. */
export async function surroundingMounts(options: ViewOptions, hidden: readonly string[]): Promise<ExtraMount[]> {
  const { folder, layers, readable = [], mounts = [] } = options;
  if (!(await stat(folder)).isDirectory()) throw refused(folder, "it is not a folder");
  if (layers.length > maxLayers)
    throw refused(folder, `it has ${layers.length} layers, and at most ${maxLayers} are possible`);
  for (const path of [folder, ...readable, ...mounts.map(({ at }) => at)]) checkPath(path);
  const added: ViewMount[] = [...readable.map((path) => ({ from: path, at: path })), ...mounts];
  const points = added.length > 0 ? await mountPoints() : [];
  const wanted = added.filter(({ at }) => !isInside(at, folder));
  const existing = await Promise.all(
    wanted.map(async (mount): Promise<ExtraMount[]> => {
      const found = await stat(mount.from).catch(() => undefined);
      if (!found?.isDirectory()) return [];
      const hasSubmounts = points.some((point) => point !== mount.from && isInside(point, mount.from));
      const { from, at } = mount;
      if (mount.isWritable === true) return [{ kind: "writable", from, at }];
      return [{ kind: "readable", hasSubmounts, from, at }];
    }),
  );
  return [...hidden.map((at): ExtraMount => ({ kind: "hidden", at })), ...existing.flat()];
}

/** Sorts outer folders before inner ones. If several mounts are at one path, the last is on top. */
export function inMountOrder(mounts: readonly ExtraMount[]): ExtraMount[] {
  const depth = ({ at }: ExtraMount) => at.split(sep).length;
  return mounts.toSorted((one, other) => depth(one) - depth(other));
}

function checkPath(path: string): void {
  if (!isAbsolute(path) || normalize(path) !== path || path.endsWith(sep) || path.includes("\0"))
    throw refused(path, "it is not a plain absolute path");
  const taken = reserved.find((one) => path === one || (one !== "/" && isInside(path, one)));
  if (taken !== undefined) throw refused(path, `${taken} is the view's own`);
}

function refused(path: string, why: string): RemoraError {
  return new RemoraError({
    code: "sandbox.folder",
    place: "sandbox",
    message: `${JSON.stringify(path)} can't be part of a view: ${why}; choose another folder`,
  });
}
