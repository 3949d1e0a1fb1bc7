/** The parts of lit-html that the pages use. It inserts all values as text. Never import `unsafeHTML`. */

export { repeat } from "/dashboard/vendor/directives/repeat.js";
export { html, nothing, render, svg } from "/dashboard/vendor/lit-html.js";
