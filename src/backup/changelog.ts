/** Reads what a changelog says about the versions after one. The format is that of Keep a Changelog. */
import { compareVersions } from "./version.ts";

/** Returns the sections of newer versions, newest first. Includes unreleased changes only on request. */
export function changesSince(changelog: string, version: string, withUnreleased: boolean): string {
  const sections = changelog.split(/^(?=## )/m).filter((section) => {
    const [, name = ""] = /^## \[?([^\]\s]+)/.exec(section) ?? [];
    if (name.toLowerCase() === "unreleased") return withUnreleased;
    return /^\d/.test(name) && compareVersions(name, version) > 0;
  });
  return sections.map((section) => section.trim()).join("\n\n");
}
