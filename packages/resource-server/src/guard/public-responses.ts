/** Responses without a token: metadata documents, preflights, and rejected origins. */
import type { GuardResponse } from '../guard-response.ts';
import { authorizationServerMetadataNotFound, createMetadataHandler } from '../metadata/metadata-handler.ts';
import { preflightResponse } from '../origin-policy.ts';
import type { RequestInfo } from '../request-info.ts';
import { isAtOrBelowResource, requestPath } from '../request-path.ts';
import type { GuardSettings } from '../settings.ts';
import { type ErrorResponses, isPresent } from './error-responses.ts';

export type PublicResponses = ReturnType<typeof createPublicResponses>;

/** Creates the responses that precede token verification. */
export function createPublicResponses(
  { resources, origins }: GuardSettings,
  { rejectForeignOrigin }: ErrorResponses,
) {
  const serveMetadata = createMetadataHandler(resources.flatMap(({ document }) => document ?? []));
  return {
    /** For metadata and preflights of the resources; `null` for every other request. */
    find(requestInfo: RequestInfo): GuardResponse | null {
      const path = requestPath(requestInfo.url);
      const document = serveMetadata(requestInfo.method, path);
      if (document !== null || !isPreflight(requestInfo)) return document;
      return resources.some((resource) => isAtOrBelowResource(resource, path))
        ? preflightResponse(origins, requestInfo.origin)
        : null;
    },
    /** The same for a path that the guard protects, where every preflight is its own. */
    findForGuardedPath(path: string, requestInfo: RequestInfo): GuardResponse | null {
      const document = serveMetadata(requestInfo.method, path) ?? authorizationServerMetadataNotFound(path);
      if (document !== null) return document;
      return isPreflight(requestInfo)
        ? preflightResponse(origins, requestInfo.origin)
        : rejectForeignOrigin(requestInfo);
    },
  };
}

/** Whether the request is a CORS preflight. @see Fetch §3.3.2 */
function isPreflight(requestInfo: RequestInfo): requestInfo is RequestInfo & { readonly origin: string } {
  return (
    requestInfo.method === 'OPTIONS' &&
    isPresent(requestInfo.requestedMethod) &&
    isPresent(requestInfo.origin)
  );
}
