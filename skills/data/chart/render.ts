/** Renders SVG to PNG with the bundled font, and with other fonts for characters that the bundled font lacks. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import { readFont } from "./font.ts";
import { createTypesetter, type Typesetter } from "./text.ts";

export interface Renderer {
  type: Typesetter;
  /** The PNG has 1.6 times the size of the SVG, for high-resolution screens. */
  png(svg: string): Uint8Array;
}

const scale = 1.6;
const require = createRequire(import.meta.url);
const files = {
  renderer: require.resolve("@resvg/resvg-wasm/index_bg.wasm"),
  regular: require.resolve("@expo-google-fonts/open-sans/400Regular/OpenSans_400Regular.ttf"),
  bold: require.resolve("@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf"),
};

/** Must be called once per process before anything is rendered. */
export async function startRendering(): Promise<void> {
  await initWasm(bytesOf(files.renderer));
}

export function createRenderer(others: readonly Uint8Array[]): Renderer {
  const regular = bytesOf(files.regular);
  const bold = bytesOf(files.bold);
  const readable = others.flatMap((bytes) => {
    try {
      return [{ bytes, font: readFont(bytes) }];
    } catch (thrown) {
      if (thrown instanceof RangeError) return [];
      throw thrown;
    }
  });
  const fontBuffers = [regular, bold, ...readable.map(({ bytes }) => bytes)];
  const font = { fontBuffers, defaultFontFamily: "Open Sans" };
  return {
    type: createTypesetter({
      regular: readFont(regular),
      bold: readFont(bold),
      others: readable.map((other) => other.font),
    }),
    png: (svg) => new Resvg(svg, { font, fitTo: { mode: "zoom", value: scale } }).render().asPng(),
  };
}

function bytesOf(file: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(file));
}
