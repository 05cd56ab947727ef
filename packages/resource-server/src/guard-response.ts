/** Responses of the guard itself, independent of any framework. */

/** An HTTP response that adapters convert to their framework's own. Header names are lowercase. */
export interface GuardResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A JSON response that caches must not store. */
export function jsonResponse(
  status: number,
  document: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): GuardResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(document),
  };
}
