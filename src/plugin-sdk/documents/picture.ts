/**
 * Decodes a picture and re-encodes it within models' limits. Runs in an isolated process; see scale-picture.ts.
 * Re-encoding drops metadata, such as the place where a photo was taken.
 */
import sharp from "sharp";
import { formatNumber } from "../../lib/text/format-number.ts";
import { maxPictureBytes, maxPictureEdgePixels, maxPicturePixels } from "./limits.ts";
import { bytesAt, sizeOf } from "./open-file.ts";

export interface PictureRequest {
  picture: Uint8Array | { descriptor: number };
}

export type ScaledPicture =
  | {
      type: "picture";
      mimeType: "image/jpeg" | "image/png";
      base64: string;
      width: number;
      height: number;
      originalWidth: number;
      originalHeight: number;
      /** More than 1 for an animation or a TIFF with several pages, of which only the first is shown. */
      frames: number;
    }
  | { type: "problem"; message: string };

interface Pixels {
  data: Buffer;
  raw: { width: number; height: number; channels: 1 | 2 | 3 | 4 };
}

const qualities = [85, 70, 50];
const smallerEdges = [1_024, 768, 512];
const decoders = ["Jpeg", "Png", "Webp", "Nsgif", "Tiff", "Heif"];

export async function scale({ picture }: PictureRequest): Promise<ScaledPicture> {
  // Allow only these of libvips's decoders so that a hostile file can't reach a rarely used one.
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({ operation: decoders.map((decoder) => `VipsForeignLoad${decoder}`) });
  sharp.concurrency(1);
  sharp.cache(false);
  const bytes = picture instanceof Uint8Array ? picture : whole(picture.descriptor);
  try {
    return await scaled(bytes);
  } catch {
    return { type: "problem", message: "The picture is damaged or incomplete. Send it again." };
  }
}

function whole(descriptor: number): Uint8Array {
  return bytesAt(descriptor, 0, sizeOf(descriptor));
}

async function scaled(bytes: Uint8Array): Promise<ScaledPicture> {
  const found = await sharp(bytes, { limitInputPixels: false }).metadata();
  const { width: originalWidth, height: originalHeight } = found.autoOrient;
  if (originalWidth * originalHeight > maxPicturePixels) return tooLarge(originalWidth, originalHeight);
  const edge = maxPictureEdgePixels;
  const { data, info } = await sharp(bytes, { limitInputPixels: maxPicturePixels, failOn: "error" })
    .autoOrient()
    .resize({ width: edge, height: edge, fit: "inside", withoutEnlargement: true })
    .toColourspace("srgb")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });
  const pixels = { data, raw: { width: info.width, height: info.height, channels: info.channels as 1 | 2 | 3 | 4 } };
  const { mimeType, encoded } = await encode(pixels);
  const { width, height } = encoded.info;
  const base64 = encoded.data.toString("base64");
  const frames = found.pages ?? 1;
  return { type: "picture", mimeType, base64, width, height, originalWidth, originalHeight, frames };
}

/** Prefers PNG for transparency, and where it is smaller, as for drawings. Otherwise uses JPEG. */
async function encode(pixels: Pixels) {
  const png = await from(pixels).png({ compressionLevel: 9 }).toBuffer({ resolveWithObject: true });
  const isTransparent = pixels.raw.channels % 2 === 0 && !(await from(pixels).stats()).isOpaque;
  if (isTransparent && png.data.length <= maxPictureBytes) return { mimeType: "image/png" as const, encoded: png };
  for (const edge of [maxPictureEdgePixels, ...smallerEdges]) {
    for (const quality of qualities) {
      const encoded = await from(pixels)
        .resize({ width: edge, height: edge, fit: "inside", withoutEnlargement: true })
        .flatten({ background: "white" })
        .jpeg({ quality, chromaSubsampling: quality > 80 ? "4:4:4" : "4:2:0" })
        .toBuffer({ resolveWithObject: true });
      if (!isTransparent && png.data.length <= Math.min(encoded.data.length, maxPictureBytes)) {
        return { mimeType: "image/png" as const, encoded: png };
      }
      const isLast = edge === smallerEdges.at(-1) && quality === qualities.at(-1);
      if (encoded.data.length <= maxPictureBytes || isLast) return { mimeType: "image/jpeg" as const, encoded };
    }
  }
  throw new Error("unreachable: the last attempt is always accepted");
}

function from({ data, raw }: Pixels) {
  return sharp(data, { raw });
}

function tooLarge(width: number, height: number): ScaledPicture {
  const shown = `${formatNumber(width)} × ${formatNumber(height)}`;
  const limit = formatNumber(maxPicturePixels / 1_000_000);
  const message = `The picture has ${shown} pixels. The limit is ${limit} million pixels. Send a smaller one.`;
  return { type: "problem", message };
}
