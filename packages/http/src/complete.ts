/** Responses that were made with every field that they need. */

const complete = new WeakSet<Response>();

/**
 * Makes a response to which nothing will be added. Fields that are there from the beginning cost a microsecond; a response to
 * which one is added has to become a whole one first, which costs ten.
 */
export function completeResponse(
  body: string | null,
  init: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response {
  const response = new Response(body, init);
  complete.add(response);
  return response;
}

export function isComplete(response: Response): boolean {
  return complete.has(response);
}
