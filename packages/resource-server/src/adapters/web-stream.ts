/** Event streams in a `Response` that end with the token that admitted them. */
import type { Guard } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { isEventStream } from '../streams/stream-watch.ts';

/** The response as it is; an event stream as one that ends when its token does. */
export function endStreamWithToken(
  { watchStream }: Guard,
  principal: Principal,
  method: string,
  response: Response,
): Response {
  if (watchStream === null || !isEventStream(response.headers.get('content-type'))) return response;
  const { body } = response;
  if (body === null) return response;
  return new Response(
    endableStream(body, (end) => watchStream(principal, method, end)),
    response,
  );
}

/** The same bytes, until `end` is called. */
function endableStream(
  body: ReadableStream<Uint8Array>,
  begin: (end: () => void) => () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let isOver = false;
  let stop = (): void => {};
  return new ReadableStream<Uint8Array>({
    start(controller) {
      stop = begin(() => {
        isOver = true;
        controller.close();
        reader.cancel().catch(() => {});
      });
    },
    async pull(controller) {
      const part = await reader.read().catch((error: unknown) => {
        stop();
        throw error;
      });
      if (isOver) return;
      if (part.done) {
        stop();
        controller.close();
      } else controller.enqueue(part.value);
    },
    cancel(reason) {
      stop();
      return reader.cancel(reason);
    },
  });
}
