/** The tools of the data skill. Each opens its files and leaves the work to an isolated process (data-process.ts). */
import { isAbsolute } from "node:path";
import PQueue from "p-queue";
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import { runIsolatedProcess } from "../../src/plugin-sdk/isolated-process.ts";
import type { JsonObject, Plugin, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { explainFileProblem } from "../../src/plugin-sdk/working-folder.ts";
import { chartOf, fileNameOf, filesIn, optionalText, sourceOptions } from "./arguments.ts";
import {
  checkPictureName,
  closeAll,
  freeName,
  type OpenFile,
  openFiles,
  openFonts,
  savedFormatOf,
  saveFile,
} from "./files.ts";
import { dataProblem } from "./problem.ts";
import type { DataAnswer, DataRequest, Source } from "./requests.ts";
import { type DataSettings, readSettings } from "./settings.ts";

const module = new URL("./data-process.ts", import.meta.url);
/** The child process's file descriptors for data files start here. */
const firstDescriptor = 4;
/** Both amounts are in MB. Rows take more space in tables than in files, and large tables are copied once. */
const processMegabytes = (ofFiles: number) => 350 + 8 * ofFiles;
const usualRows = 50;

type Work = (files: OpenFile[], settings: DataSettings) => Promise<PluginResult>;

function createDataTools(): Plugin {
  // Run at most two processes, because each may need a full CPU core and more than a gigabyte.
  const queue = new PQueue({ concurrency: 2 });

  const withFiles = async (input: JsonObject, context: PluginContext, work: Work): Promise<PluginResult> => {
    const settings = readSettings(context.config);
    const files = await openFiles(filesIn(input), context.workingFolder, settings.megabytes);
    try {
      return await work(files, settings);
    } finally {
      await closeAll(files.map(({ handle }) => handle));
    }
  };
  const run = (
    request: DataRequest,
    descriptors: number[],
    { seconds, megabytes }: DataSettings,
    signal: AbortSignal,
  ): Promise<DataAnswer> =>
    queue.add(
      async () => {
        const limits = { timeoutMs: seconds * 1000, megabytes: processMegabytes(megabytes) };
        const task = { module, request, descriptors, ...limits };
        const outcome = await runIsolatedProcess(task, signal);
        // This cast is safe, because the process runs only our own code.
        if (outcome.type === "answer") return outcome.answer as DataAnswer;
        throw failureOf(outcome.why, outcome.message, seconds);
      },
      { signal },
    );

  async function describe(input: JsonObject, context: PluginContext): Promise<PluginResult> {
    return await withFiles(input, context, async (files, settings) => {
      const request = { type: "describe", source: sourceOf(files, input) } as const;
      return resultOf(await run(request, descriptorsOf(files), settings, context.signal));
    });
  }

  async function query(input: JsonObject, context: PluginContext): Promise<PluginResult> {
    const saveAs = optionalText(input.save_as);
    const save = saveAs === undefined ? undefined : savedFormatOf(saveAs);
    return await withFiles(input, context, async (files, settings) => {
      const rows = typeof input.rows === "number" ? input.rows : usualRows;
      const request = {
        type: "query",
        source: sourceOf(files, input),
        sql: optionalText(input.sql) ?? "",
        rows,
        save,
      } as const;
      const answer = await run(request, descriptorsOf(files), settings, context.signal);
      if (answer.type !== "saved") return resultOf(answer);
      const { workingFolder } = context;
      const said = await saveFile(saveAs ?? "", answer.content, { workingFolder, read: files.map(({ name }) => name) });
      return `${said} ${answer.rows} rows.\n\n${answer.text}`;
    });
  }

  async function chart(input: JsonObject, context: PluginContext): Promise<PluginResult> {
    const { workingFolder } = context;
    const given = optionalText(input.save_as);
    const name = given ?? (await freeName(fileNameOf(optionalText(input.title) ?? ""), workingFolder));
    checkPictureName(name);
    return await withFiles(input, context, async (files, settings) => {
      const fonts = await openFonts(settings.fonts.filter(isAbsolute));
      try {
        const ofFiles = descriptorsOf(files);
        const request: DataRequest = {
          type: "chart",
          source: sourceOf(files, input),
          sql: optionalText(input.sql),
          chart: chartOf(input),
          fonts: fonts.map((_font, index) => firstDescriptor + ofFiles.length + index),
        };
        const descriptors = [...ofFiles, ...fonts.map(({ fd }) => fd)];
        const answer = await run(request, descriptors, settings, context.signal);
        if (answer.type !== "picture") return resultOf(answer);
        const said = await saveFile(name, answer.png, { workingFolder, read: [] });
        const file = { name: name.split("/").at(-1) ?? name, path: name, mimeType: "image/png" };
        return {
          success: true,
          output: `${said} The person sees it with your answer.\n\n${answer.text}`,
          files: [file],
          images: [{ path: name }],
        };
      } finally {
        await closeAll(fonts);
      }
    });
  }

  const tools = new Map([
    ["data_describe", describe],
    ["data_query", query],
    ["data_chart", chart],
  ]);
  return {
    async execute(name, input, context) {
      const tool = tools.get(name);
      if (tool === undefined) return failure(`The data skill has no tool ${name}.`);
      try {
        return await tool(input, context);
      } catch (thrown) {
        const error = explainFileProblem(thrown, filesIn(input).join(", "));
        if (error === undefined || context.signal.aborted) throw thrown;
        return failure(error);
      }
    },
  };
}

function sourceOf(files: readonly OpenFile[], input: JsonObject): Source {
  const described = files.map(({ name, size, format }, index) => ({
    name,
    size,
    format,
    descriptor: firstDescriptor + index,
  }));
  return { files: described, csv: sourceOptions(input) };
}

function descriptorsOf(files: readonly OpenFile[]): number[] {
  return files.map(({ handle }) => handle.fd);
}

function resultOf(answer: DataAnswer): PluginResult {
  return answer.type === "problem" ? failure(answer.text) : answer.text;
}

function failureOf(why: "error" | "time" | "memory", message: string, seconds: number): Error {
  switch (why) {
    case "time":
      return dataProblem(
        "sql",
        `did not finish within ${seconds} s: narrow it down, check joins without a condition, or use less data`,
      );
    case "memory":
      return dataProblem("data", "needs too much memory for one call: use a part of it, or narrow the query down");
    case "error":
      return new RemoraError({
        code: "data.failed",
        place: "data",
        message: `the work on the data failed (${message})`,
      });
    default:
      return why satisfies never;
  }
}

export default createDataTools();
