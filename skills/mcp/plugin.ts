/** Tools of Model Context Protocol servers. Without configured servers, only this file and the settings are loaded. */
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
      if (servers === undefined) return { success: false, output: "", error: "No server is configured." };
      return await servers.call(tool, input, context);
    },
    async destroy() {
      await servers?.close();
    },
  };
}

export default createMcp();
