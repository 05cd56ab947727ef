/** Ends event streams in standard responses with the token that authorized them. */
import type { Guard } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { isEventStream, watchedMethod } from '../streams/stream-watch.ts';

/** Returns the response; an event stream is wrapped so that it ends with its token. */
export function endStreamWithToken(
  { watchStream }: Guard,
  principal: Principal,
  request: Request,
  response: Response,
): Response {
  if (watchStream === null || !isEventStream(response.headers.get('content-type'))) return response;
  const { body } = response;
  if (body === null) return response;
  const method = watchedMethod(request.method, request.headers.get('mcp-method'));
  return new Response(
    endableStream(body, (end) => watchStream(principal, method, end)),
    response,
  );
}

/** Passes bytes through until `end` is called. */
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
