/** Pictures are scaled to what models accept, from real bytes. */
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { maxPictureBytes } from "../../../src/plugin-sdk/documents/limits.ts";
import { scalePicture } from "../../../src/plugin-sdk/documents/scale-picture.ts";
import { blankPng } from "./files.ts";
import { type DocumentsPlace, makeDocumentsPlace } from "./place.ts";

let place: DocumentsPlace;
beforeAll(async () => {
  place = await makeDocumentsPlace();
});
afterAll(() => place.remove());

const never = new AbortController().signal;
const noise = (width: number, height: number) =>
  sharp({
    create: { width, height, channels: 3, background: "red", noise: { type: "gaussian", mean: 128, sigma: 60 } },
  });

async function scaled(bytes: Uint8Array) {
  const picture = await scalePicture(bytes, never);
  if (picture.type === "problem") throw new Error(picture.message);
  const data = Buffer.from(picture.base64, "base64");
  return { picture, data, metadata: await sharp(data).metadata() };
}

describe("a photo", () => {
  test("becomes a JPEG within the limits, upright, without metadata", async () => {
    const photo = await noise(3_000, 2_000)
      .withExif({ IFD0: { Copyright: "canary" }, IFD3: { GPSLatitude: "51/1 30/1 0/1" } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect((await sharp(photo).metadata()).exif?.includes("canary")).toBe(true);
    const { picture, data, metadata } = await scaled(photo);
    expect(picture).toMatchObject({
      mimeType: "image/jpeg",
      originalWidth: 2_000,
      originalHeight: 3_000,
      height: 1_568,
    });
    expect(metadata).toMatchObject({ format: "jpeg", width: picture.width, height: 1_568 });
    expect(metadata.exif).toBeUndefined();
    expect(data.length).toBeLessThanOrEqual(maxPictureBytes);
  });

  test("that no quality makes small enough becomes smaller", async () => {
    const { data } = await scaled(await noise(1_568, 1_568).png().toBuffer());
    expect(data.length).toBeLessThanOrEqual(maxPictureBytes);
  });
});

test("a drawing and a transparent picture stay PNG", async () => {
  const drawing = await sharp({ create: { width: 800, height: 600, channels: 3, background: "white" } })
    .jpeg()
    .toBuffer();
  expect((await scaled(drawing)).metadata).toMatchObject({ format: "png", width: 800 });
  const clear = {
    create: { width: 90, height: 60, channels: 4 as const, background: { r: 9, g: 9, b: 9, alpha: 0.5 } },
  };
  expect((await scaled(await sharp(clear).webp().toBuffer())).metadata).toMatchObject({
    format: "png",
    hasAlpha: true,
  });
});

test.each(["webp", "gif", "tiff", "avif"] as const)("%s is converted", async (format) => {
  const { picture } = await scaled(await noise(64, 48).toFormat(format).toBuffer());
  expect(picture).toMatchObject({ width: 64, height: 48, frames: 1 });
});

test("of an animation the first frame is shown, and the look says so", async () => {
  const frames = await Promise.all(
    ["red", "blue"].map((background) =>
      sharp({ create: { width: 40, height: 30, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const animation = await sharp(frames, { join: { animated: true } })
    .gif()
    .toBuffer();
  const look = await place.inspect("a.gif", animation);
  expect(look.summary).toMatch(/^GIF picture, 40 × 30 pixels, .*, the first of 2 frames is shown$/);
  const { data } = await sharp(Buffer.from(look.image?.base64 ?? "", "base64"))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect([...data.subarray(0, 3)]).toEqual([255, 0, 0]);
});

describe("is refused with a sentence:", () => {
  test("a picture of 30,000 × 30,000 pixels", async () => {
    const look = await place.inspect("a.png", blankPng(30_000, 30_000));
    expect(look.problem).toBe(
      "The picture has 30,000 × 30,000 pixels. The limit is 200 million pixels. Send a smaller one.",
    );
  });

  test("HEIC and other formats that nothing here decodes", async () => {
    const heic = Buffer.from("\0\0\0\x18ftypheic\0\0\0\0mif1heic", "latin1");
    expect(await place.inspect("IMG_1.jpg", heic)).toMatchObject({
      ...{ mimeType: "image/heic", problem: "HEIC pictures can't be read here. Send the picture as JPEG or PNG." },
    });
    const psd = Buffer.from("8BPS\0\x01", "latin1");
    expect((await place.inspect("a.psd", psd)).problem).toContain("Photoshop pictures can't be read");
  });

  test("what is only called a picture, or cut off", async () => {
    expect(await place.inspect("a.png", "just text")).toMatchObject({ mimeType: "text/plain", text: "just text" });
    expect(await place.inspect("a.png", await noise(8, 8).jpeg().toBuffer())).toMatchObject({ mimeType: "image/jpeg" });
    expect((await place.inspect("a.png", (await noise(99, 99).png().toBuffer()).subarray(0, 60))).problem).toContain(
      "damaged",
    );
    expect(await scalePicture(Buffer.from("x"), never)).toEqual({
      ...{ type: "problem", message: "It is not a picture. Send a picture as JPEG or PNG." },
    });
  });
});

test("SVG is text, because its drawing could lead out of the file", async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>';
  expect(await place.inspectHere("a.svg", svg)).toMatchObject({ mimeType: "image/svg+xml", text: svg });
});
