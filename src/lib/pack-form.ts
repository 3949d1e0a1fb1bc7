/**
 * Packs a form into bytes for `fetch`. Node reads the files of a form as a stream, and if the request is aborted meanwhile, a
 * promise rejects that nobody can catch ("ReadableStream is already closed"), which would end the process.
 */
export async function packForm(init: RequestInit, form: FormData): Promise<RequestInit> {
  const packed = new Response(form);
  const headers = new Headers(init.headers);
  headers.set("content-type", packed.headers.get("content-type") ?? "");
  return { ...init, headers, body: new Uint8Array(await packed.arrayBuffer()) };
}
