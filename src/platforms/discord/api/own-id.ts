/** The bot's own user id. The gateway knows it; a worker without a gateway asks Discord once. */
import { type APIUser, Routes } from "discord.js";
import type { DiscordApi } from "./api.ts";

export type OwnId = () => Promise<string>;

export function createOwnId(api: DiscordApi, known: () => string | undefined): OwnId {
  let asked: Promise<string> | undefined;
  return async () => {
    const id = known();
    if (id !== undefined) return id;
    asked ??= api.request<APIUser>({ method: "GET", route: Routes.user() }).then((user) => user.id);
    return await asked.catch((thrown: unknown) => {
      asked = undefined;
      throw thrown;
    });
  };
}
