/**
 * Tools of Model Context Protocol servers: connected in the background (servers.ts), offered as they turn up, and called.
 * Without servers in the settings nothing but this file and the reading of settings is loaded.
 */
import type { Plugin } from "../../src/plugin-sdk/plugin.ts";
import type { Servers } from "./servers.ts";
import { readSettings } from "./settings.ts";

const aboutSettings = "skills.settings.mcp";

function createMcp(): Plugin {
  let servers: Servers | undefined;
  return {
    async init(home) {
      const settings = readSettings(home.config);
      home.offer?.(aboutSettings, { problems: settings.problems });
      if (settings.servers.size === 0) return;
      const { createServers } = await import("./servers.ts");
      servers = createServers(settings.servers, home);
    },
    async execute(tool, input, context) {
      if (servers === undefined)
        return { success: false, output: "", error: "No server is connected: there is none in the settings." };
      return await servers.call(tool, input, context);
    },
    async destroy() {
      await servers?.close();
    },
  };
}

export default createMcp();
