/** Manages the files attached to a message that is being written, and uploads them. */
import { element, iconButton, sizeOf } from "./dom.js";

/** `upload(id, file, onProgress)` rejects with a Failure. `say` shows a sentence. */
export function createAttachedFiles({ upload, limits, say }) {
  const view = element("div", { class: "attached", hidden: true });
  /** `{ file, id, bar, progress, isUploaded }`. */
  let entries = [];

  function show() {
    view.hidden = entries.length === 0;
    view.replaceChildren(...entries.map(entryView));
  }

  function entryView(entry) {
    const { file, progress } = entry;
    const removeButton = iconButton(`Remove ${file.name}`, "close", () => remove([entry]));
    entry.bar = element("progress", { max: "1", value: `${progress ?? 0}`, "aria-label": `Uploading ${file.name}` });
    const name = `${file.name} · ${sizeOf(file.size)}`;
    return element("span", { class: "attached-file" }, name, progress === undefined ? removeButton : entry.bar);
  }

  function remove(gone) {
    entries = entries.filter((entry) => !gone.includes(entry));
    show();
  }

  async function uploadOne(entry) {
    entry.progress = 0;
    show();
    try {
      await upload(entry.id, entry.file, (part) => {
        entry.progress = part;
        entry.bar.value = part;
      });
      entry.isUploaded = true;
    } finally {
      entry.progress = undefined;
      show();
    }
  }

  return {
    view,
    all: () => entries,
    remove,
    add(files) {
      const { maxFileBytes, maxFiles } = limits();
      const fit = [...files].filter(({ size }) => size <= maxFileBytes);
      const large = [...files].find(({ size }) => size > maxFileBytes);
      const room = Math.max(0, maxFiles - entries.length);
      const added = fit.slice(0, room).map((file) => ({ file, id: crypto.randomUUID(), isUploaded: false }));
      entries = [...entries, ...added];
      show();
      if (large !== undefined)
        say(`${large.name} has ${mebibytes(large.size)}. A file can have at most ${mebibytes(maxFileBytes)}.`);
      else if (fit.length > room)
        say(`A message can have at most ${maxFiles} files. Send the others in another message.`);
    },
    /** Uploads one file at a time so that a slow connection completes some. Skips files that are already uploaded. */
    async upload(given) {
      for (const entry of given) if (!entry.isUploaded) await uploadOne(entry);
      return given.map(({ id }) => ({ upload: id }));
    },
  };
}

function mebibytes(bytes) {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
