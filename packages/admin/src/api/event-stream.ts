/** Responses of server-sent events. @see WHATWG HTML, section 9.2 */

/**
 * Responds with a stream of items as they are found.
 * @param follow yields them until its signal aborts; `null`: a sign of life
 */
export function respondEvents<T extends { readonly id: string }>(
  follow: (ended: AbortSignal) => AsyncGenerator<T | null>,
  toJson: (item: T) => object,
): Response {
  const ended = new AbortController();
  const items = follow(ended.signal);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(': connected\n\n')),
    async pull(controller) {
      const { done, value } = await items.next();
      if (done === true) return controller.close();
      const text = value === null ? ':\n\n' : `id: ${value.id}\ndata: ${JSON.stringify(toJson(value))}\n\n`;
      controller.enqueue(encoder.encode(text));
    },
    cancel: () => ended.abort(),
  });
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  };
  return new Response(body, { headers });
}
