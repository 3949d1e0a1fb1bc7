/** Opens and updates modals. Opening is not retried, because its trigger expires after three seconds. */
import { z } from "zod";
import { anyAnswer, type SlackApi } from "./api.ts";

export type View = Record<string, unknown>;

const openedSchema = z.object({ view: z.object({ id: z.string() }) });

/** Resolves to the view's id. */
export async function openView(api: SlackApi, trigger: string | undefined, view: View): Promise<string> {
  const args = { trigger_id: trigger, view };
  return (await api.call("views.open", args, openedSchema, { isOnce: true, maxRetryMs: 0 })).view.id;
}

export async function updateView(api: SlackApi, id: string, view: View): Promise<void> {
  await api.call("views.update", { view_id: id, view }, anyAnswer);
}
