/** Routes that carry an interaction's token: its answer, and the messages that follow. */
import { MessageFlags } from "discord.js";
import { refusal } from "./api-error.ts";
import { removeMessages } from "./edit-messages.ts";
import { answerInteraction, callbacks, editReply, followUp, interactionByToken, replyOf } from "./interactions.ts";
import { messagePayload } from "./message-payload.ts";
import type { Route, RouteRequest } from "./router.ts";
import type { InteractionRecord, MessageRecord, World } from "./world.ts";

const webhook = "/webhooks/:application/:token";

export const interactionRoutes: Route[] = [
  {
    name: "interactions.callback",
    method: "POST",
    pattern: "/interactions/:interaction/:token/callback",
    isOpen: true,
    handle: (request) => {
      const { world, parts, json, files, query } = request;
      const interaction = world.interactions.get(parts.interaction ?? "");
      if (interaction === undefined || interaction.token !== parts.token) throw refusal("unknownInteraction");
      const answer = answerInteraction(world, interaction, json, files);
      if (query.get("with_response") !== "true") return {};
      return { body: callbackResponse(world, interaction, answer) };
    },
  },
  {
    name: "webhooks.create",
    limit: "webhooks",
    method: "POST",
    pattern: webhook,
    isOpen: true,
    handle: (request) => ({
      body: payload(request.world, followUp(request.world, of(request), request.json, request.files)),
    }),
  },
  {
    name: "webhooks.get",
    limit: "webhooks",
    method: "GET",
    pattern: `${webhook}/messages/:message`,
    isOpen: true,
    handle: (request) => ({
      body: payload(request.world, replyOf(request.world, of(request), request.parts.message ?? "").message),
    }),
  },
  {
    name: "webhooks.edit",
    limit: "webhooks",
    method: "PATCH",
    pattern: `${webhook}/messages/:message`,
    isOpen: true,
    handle: (request) => {
      const { world, parts, json, files } = request;
      return { body: payload(world, editReply(world, of(request), parts.message ?? "", json, files)) };
    },
  },
  {
    name: "webhooks.delete",
    limit: "webhooks",
    method: "DELETE",
    pattern: `${webhook}/messages/:message`,
    isOpen: true,
    handle: (request) => {
      const { world, parts } = request;
      const { channel, message } = replyOf(world, of(request), parts.message ?? "");
      removeMessages(world, channel, [message.id]);
      return {};
    },
  },
];

function of({ world, parts }: RouteRequest): InteractionRecord {
  return interactionByToken(world, parts.application ?? "", parts.token ?? "");
}

/** The application's own messages, which it may always read. */
function payload(world: World, message: MessageRecord): object {
  return { ...messagePayload(world, message, { readsContent: true }), webhook_id: world.application.id };
}

function callbackResponse(
  world: World,
  interaction: InteractionRecord,
  answer: { type: number; message?: MessageRecord },
): object {
  const { type, message } = answer;
  const flags = message?.flags ?? 0;
  return {
    interaction: {
      id: interaction.id,
      type: interaction.type,
      ...(message === undefined
        ? {}
        : {
            response_message_id: message.id,
            response_message_loading: (flags & MessageFlags.Loading) !== 0,
            response_message_ephemeral: (flags & MessageFlags.Ephemeral) !== 0,
          }),
    },
    resource: {
      type,
      ...(message === undefined || type === callbacks.modal ? {} : { message: payload(world, message) }),
    },
  };
}
