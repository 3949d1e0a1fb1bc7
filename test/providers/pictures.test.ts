/** How pictures in results go to each service, and what happens if a model can't see them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/ports/provider.ts";
import { createPictureFallback } from "../../src/providers/without-pictures.ts";
import { picture } from "../conformance/provider.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { type Api, apis, asking, collect, failureIn } from "./apis.ts";

const image = { mimeType: "image/png", base64: picture };
const call = (id: string) => ({ id, name: "look_up", inputJson: "{}" });
const result = (callId: string, text: string, more: object = {}): ModelMessage => ({
  ...{ role: "tool", callId, name: "look_up", text, isError: false },
  ...more,
});

/** Two results of one step: the first and the last have pictures. Then the person says more. */
const messages: ModelMessage[] = [
  { role: "user", content: [{ type: "text", text: "draw" }] },
  { role: "assistant", text: "", toolCalls: [call("call_a"), call("call_b"), call("call_c")] },
  result("call_a", "One.", { images: [image] }),
  result("call_b", "None."),
  result("call_c", "Two.", { images: [image, image] }),
  { role: "user", content: [{ type: "text", text: "and?" }] },
];

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble();
  double.mock.onMessage(/./, { content: "Seen, thank you." });
});
afterEach(() => double.stop());

function apiOf(name: string): Api {
  return apis.find((api) => api.name === name) ?? expect.fail(`no api ${name}`);
}

async function sent(name: string, asked = messages) {
  await collect(apiOf(name).create(double.url), asking("x", { messages: asked }));
  return double.requests.at(-1)?.body ?? expect.fail("nothing was sent");
}

test("anthropic gets pictures inside the result", async () => {
  const { messages: got } = await sent("anthropic");
  const block = { type: "image", source: { type: "base64", media_type: "image/png", data: picture } };
  expect(got).toMatchObject([
    {},
    {},
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "call_a", content: [{ type: "text", text: "One." }, block] },
        { type: "tool_result", tool_use_id: "call_b", content: "None." },
        { type: "tool_result", tool_use_id: "call_c", content: [{ type: "text", text: "Two." }, block, block] },
        { type: "text", text: "and?" },
      ],
    },
  ]);
});

test("anthropic gets no pictures in the result of a failed call, because the service refuses them", async () => {
  const failed = [...messages.slice(0, 2), result("call_a", "It broke.", { images: [image], isError: true })];
  expect(JSON.stringify(await sent("anthropic", failed))).not.toContain(picture);
});

test("openai responses gets pictures as parts of the output", async () => {
  const { input } = await sent("openai responses");
  const part = { type: "input_image", image_url: `data:image/png;base64,${picture}`, detail: "auto" };
  expect((input as object[]).filter((item) => "output" in item)).toMatchObject([
    { call_id: "call_a", output: [{ type: "input_text", text: "One." }, part] },
    { call_id: "call_b", output: "None." },
    { call_id: "call_c", output: [{ type: "input_text", text: "Two." }, part, part] },
  ]);
});

test("openai chat gets pictures from the user after the last result, each named after its call", async () => {
  const { messages: got } = await sent("openai chat");
  const part = { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } };
  expect((got as object[]).slice(3)).toEqual([
    { role: "tool", tool_call_id: "call_a", content: "One." },
    { role: "tool", tool_call_id: "call_b", content: "None." },
    { role: "tool", tool_call_id: "call_c", content: "Two." },
    {
      role: "user",
      content: [
        { type: "text", text: "The picture in the result of look_up (call call_a):" },
        part,
        { type: "text", text: "The pictures in the result of look_up (call call_c):" },
        ...[part, part],
      ],
    },
    { role: "user", content: "and?" },
  ]);
});

test("ollama gets pictures with the result", async () => {
  const { messages: got } = await sent("ollama");
  expect((got as object[]).slice(3)).toMatchObject([
    { role: "tool", content: "One.", images: [picture] },
    { role: "tool", content: "None." },
    { role: "tool", content: "Two.", images: [picture, picture] },
    { role: "user", content: "and?" },
  ]);
});

describe.each(apis.map(({ name }) => name))("%s", (name) => {
  const answer = (status: number, message: string) =>
    double.failNext({
      type: "answer",
      status,
      body: JSON.stringify({ error: { message, type: "invalid_request_error" } }),
    });
  const asked = () => collect(apiOf(name).create(double.url), asking("x", { messages }));

  test("a refusal that does not name pictures is asked again without them, and the next step tries them again", async () => {
    const provider = apiOf(name).create(double.url);
    const step = () => collect(provider, asking("x", { messages }));
    answer(400, "Could not process the request");
    expect((await step()).at(-1)).toMatchObject({ type: "end" });
    await step();
    const withPicture = double.requests.map(({ body }) => JSON.stringify(body).includes(picture));
    expect(withPicture).toEqual([true, false, true]);
  });

  test("a second refusal is reported", async () => {
    answer(400, "first");
    answer(400, "second");
    expect(failureIn(await asked())).toMatchObject({
      code: "provider.bad-request",
      message: expect.stringContaining("second"),
    });
    expect(double.requests).toHaveLength(2);
  });

  test("other failures are not asked again", async () => {
    answer(503, "overloaded");
    expect(failureIn(await asked())).toMatchObject({ code: "provider.overloaded" });
    expect(double.requests).toHaveLength(1);
  });
});

test.each([
  [404, "No endpoints found that support image input"],
  [500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"],
  [400, "At most 0 image(s) may be provided in one request."],
  [400, "google/gemma-tiny is not a multimodal model"],
  [400, "Failed to deserialize the JSON body: messages[1]: unknown variant `image_url`, expected `text`"],
  [400, "messages.0.content must be a string"],
])("a server's %i with “%s” means that the model sees no pictures", async (status, message) => {
  const provider = apiOf("openai chat").create(double.url);
  double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message } }) });
  for (const _step of [1, 2]) expect((await collect(provider, asking("x", { messages }))).at(-1)?.type).toBe("end");
  expect(double.requests.map(({ body }) => JSON.stringify(body).includes(picture))).toEqual([true, false, false]);
});

// https://github.com/anthropics/claude-code/issues/46127, /20021, /49537; https://github.com/ollama/ollama/issues/11320;
// https://github.com/ChronoAIProject/NyxID/issues/957; https://github.com/open-webui/computer/issues/293
test.each([
  [400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 9427836 bytes", "it is too large"],
  [400, "At least one of the image dimensions exceed max allowed size for many-image requests", "it is too large"],
  [400, "Model supports at most 1 image per prompt.", "there are too many"],
  [413, "Request Entity Too Large", "it is too large"],
  [400, "Could not process image", "could not read it"],
  [500, "Failed to create new sequence: failed to process inputs: image: unknown format", "could not read it"],
  [400, "The image format image/tiff is not supported", "could not read it"],
  [400, "That is not what we want", "refused the request with it"],
])(
  "after a %i with “%s” the model reads why it sees no picture, people read that it is asked again, and the next step has pictures",
  async (status, message, why) => {
    for (const api of apis) {
      const provider = api.create(double.url);
      double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message } }) });
      const events = await collect(provider, asking("x", { messages }));
      expect(events[0]).toEqual({ type: "notice", text: "Asking again without the picture" });
      expect(events.at(-1)?.type).toBe("end");
      const sent = JSON.stringify(double.requests.at(-1)?.body);
      expect(sent).toContain(why);
      expect(sent).not.toContain(picture);
      await collect(provider, asking("x", { messages }));
      expect(JSON.stringify(double.requests.at(-1)?.body)).toContain(picture);
    }
  },
);

test.each([
  "Invalid image: the image format is not supported. Use png, jpeg, gif or webp.",
  "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg'].",
  "image/heic images are not supported",
  "Image size is not supported: 9000x9000",
  "The image data could not be decoded; animated images are not supported",
  "The model does not support image URLs that redirect",
])("a picture of which a service says “%s” blinds the model for no other picture", async (message) => {
  const provider = apiOf("openai chat").create(double.url);
  double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
  for (const _step of [1, 2]) expect((await collect(provider, asking("x", { messages }))).at(-1)?.type).toBe("end");
  expect(double.requests.map(({ body }) => JSON.stringify(body).includes(picture))).toEqual([true, false, true]);
});

test("a model is only known to see no pictures once it has answered without them", async () => {
  const provider = apiOf("openai chat").create(double.url);
  const refusal = (message: string) =>
    ({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) }) as const;
  double.failNext(refusal("this model does not support images"), refusal("something else"));
  for (const _step of [1, 2]) await collect(provider, asking("x", { messages }));
  expect(double.requests.map(({ body }) => JSON.stringify(body).includes(picture))).toEqual([true, false, true]);
});

test("a model that saw no pictures is tried again after an hour", async () => {
  let now = 0;
  const { stream } = createPictureFallback(() => now);
  const provider = apiOf("openai chat").create(double.url);
  double.blind();
  const ask = async () => {
    const request = asking("x", { messages });
    const open = (asked: typeof request) => provider.stream(asked, new AbortController().signal);
    for await (const event of stream("m", request, open)) if (event.type === "end") return;
  };
  await ask();
  const requests = double.requests.length;
  now = 3_599_000;
  await ask();
  expect(double.requests).toHaveLength(requests + 1);
});
