/** The routes of the authorization server: which hand answers which path and method. */

/** Who is at the other end of the connection, as far as the host of this server knows. */
export interface Peer {
  /** Its IP address: for limits and events, never for decisions about identity. */
  readonly address?: string;
}

/** One method of one path. */
export interface Route {
  /** HEAD follows GET. */
  readonly method: 'GET' | 'POST';
  /** A whole path, or one that ends with `/*` and stands for all below it. */
  readonly path: string;
  /** Whether scripts of any web origin may call it, without cookies. Never for pages. */
  readonly crossOrigin?: true;
  /** Answers. An `OAuthError` that it throws becomes a JSON error response, anything else a 500. */
  handle(request: Request, peer: Peer): Promise<Response>;
}
