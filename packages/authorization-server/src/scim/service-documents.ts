/** What a SCIM service says about itself: its configuration, resource types and schemas. @see RFC 7643 §5 to §7, RFC 7644 §4 */
import { MAX_RESULTS } from './list.ts';
import { RESOURCE_TYPES, resourceTypeDocument, schemaDocument } from './schema.ts';
import { ScimError } from './scim-error.ts';

/** Bytes of a request body. */
export const MAX_PAYLOAD = 1_048_576;
/** Operations of a bulk request. */
export const MAX_BULK_OPERATIONS = 100;

export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

function serviceProviderConfig(base: string): object {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: true, maxOperations: MAX_BULK_OPERATIONS, maxPayloadSize: MAX_PAYLOAD },
    filter: { supported: true, maxResults: MAX_RESULTS },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
    // RFC 9865 §4
    pagination: {
      cursor: true,
      index: true,
      defaultPaginationMethod: 'index',
      defaultPageSize: MAX_RESULTS / 2,
      maxPageSize: MAX_RESULTS,
    },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token of one provisioning connection, which expires',
        specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

/** By name: each list has its documents by identifier. */
const LISTS: Readonly<Record<string, (base: string) => ReadonlyMap<string, object>>> = {
  ResourceTypes: (base) =>
    new Map(RESOURCE_TYPES.map((type) => [type.kind, resourceTypeDocument(type, base)])),
  Schemas: (base) => new Map(RESOURCE_TYPES.map((type) => [type.schema, schemaDocument(type, base)])),
};

/**
 * A document by its path below the endpoint; `null`: there is none.
 * @throws ScimError 403 for a filter: a client must not assume that its conditions were applied. @see RFC 7644 §4
 */
export function findServiceDocument(path: string, hasFilter: boolean, base: string): object | null {
  const [, name = '', id, ...more] = path.split('/');
  const isConfig = name === 'ServiceProviderConfig';
  if (more.length > 0 || !(isConfig || Object.hasOwn(LISTS, name))) return null;
  if (hasFilter) throw new ScimError(403, null, 'Filters are not applied to this resource.');
  if (isConfig) return id === undefined ? serviceProviderConfig(base) : null;
  const documents = LISTS[name]?.(base) ?? new Map<string, object>();
  if (id !== undefined) return documents.get(decode(id)) ?? null;
  const totalResults = documents.size;
  const Resources = [...documents.values()];
  return { schemas: [LIST_SCHEMA], totalResults, startIndex: 1, itemsPerPage: totalResults, Resources };
}

/** Malformed escapes stay: no document has such an identifier. */
function decode(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
