import { expect, test } from "vitest";
import { toolboxSettings } from "../../src/config/derive.ts";
import { loadSettings } from "../../src/config/load.ts";

test.each(["auto", "required", "off"] as const)(
  "safety.sandbox %s is no setting of a skill: each finds what the file says, word for word",
  (mode) => {
    const loaded = loadSettings({}, "/nowhere");
    if (loaded.type !== "ok") throw new Error("the defaults are no valid configuration");
    const { settings } = loaded;
    settings.config.safety.sandbox = mode;
    settings.config.skills.settings = { shell: { seconds: 5 } };
    expect(toolboxSettings(settings).settings).toEqual({ shell: { seconds: 5 } });
  },
);
