/** Protected resource metadata: the document of RFC 9728, read by the client. */
import { endpointUrl, type Reading, readDocument, strings } from './document.ts';
import { issuerFault } from './issuer.ts';
import type { ProtectedResourceMetadata } from './resource-metadata.ts';
import { flag, list, must, object, text } from './shape.ts';

export { type ProtectedResourceMetadata, protectedResourceMetadata } from './resource-metadata.ts';

const shape = object<ProtectedResourceMetadata>({
  required: {
    // MUST have no fragment. RFC 9728 §1.2
    resource: endpointUrl,
    // Each MUST be an issuer identifier. RFC 9728 §2
    authorization_servers: list(
      text(issuerFault),
      must(({ length }) => length > 0, 'name at least one authorization server'),
    ),
  },
  optional: {
    scopes_supported: strings,
    bearer_methods_supported: strings,
    resource_name: text(),
    resource_documentation: text(),
    dpop_bound_access_tokens_required: flag,
  },
});

/**
 * Reads a document. It MUST hold at least one authorization server; it MAY hold several.
 * Whether its resource is the one meant is judged by whoever asked.
 * @see seed 2.1
 */
export function readProtectedResourceMetadata(json: unknown): Reading<ProtectedResourceMetadata> {
  return readDocument(shape, json);
}
