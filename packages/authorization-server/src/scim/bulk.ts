/** Bulk requests: several operations in one, whose new resources refer to each other by `bulkId`. @see RFC 7644 §3.7 */
import { OAuthError } from '@portcullis/protocol';
import { asObject, checkSchemas } from './representation.ts';
import { handleScimRequest, type ScimOutcome, type ScimService } from './requests.ts';
import { ScimError, scimErrorDocument } from './scim-error.ts';
import { MAX_BULK_OPERATIONS } from './service-documents.ts';

const BULK_REQUEST = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest';
const BULK_RESPONSE = 'urn:ietf:params:scim:api:messages:2.0:BulkResponse';
const REFERENCE = /^bulkId:(.+)$/i;
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];

interface BulkOperation {
  readonly method: string;
  readonly bulkId: string | null;
  readonly path: string;
  readonly version: string | null;
  readonly data: unknown;
}

interface BulkResult {
  readonly isError: boolean;
  /** Whether nothing more is performed. */
  readonly isLast?: boolean;
  readonly document: object;
}

/** @param charge charges one operation to the rate limit */
export async function handleBulk(
  service: ScimService,
  body: unknown,
  charge: () => Promise<void> | undefined,
): Promise<object> {
  const request = asObject(body, 'The body');
  checkSchemas(request, BULK_REQUEST);
  const { failOnErrors, Operations: given } = request;
  if (!Array.isArray(given)) throw new ScimError(400, 'invalidSyntax', 'Operations must be a list.');
  // MUST be 413. @see §3.7.4
  if (given.length > MAX_BULK_OPERATIONS)
    throw new ScimError(413, null, `Send at most ${MAX_BULK_OPERATIONS} operations in one bulk request.`);
  const mostErrors = typeof failOnErrors === 'number' && failOnErrors >= 1 ? failOnErrors : Infinity;
  const operations = given.map((one) => readOperation(asObject(one, 'An operation')));
  const bulkIds = operations.flatMap(({ method, bulkId }) => (method === 'POST' ? [bulkId] : []));
  // References to one of two resources would be to either.
  if (new Set(bulkIds).size < bulkIds.length)
    throw new ScimError(400, 'invalidSyntax', 'Each operation that creates needs a bulkId of its own.');
  // Before the first, so that a refused request has changed nothing.
  for (const _ of operations) await charge();
  const results = await performAll(service, operations, mostErrors);
  return { schemas: [BULK_RESPONSE], Operations: results.map(({ document }) => document) };
}

function readOperation({
  method,
  bulkId,
  path,
  version,
  data,
}: Readonly<Record<string, unknown>>): BulkOperation {
  const name = typeof method === 'string' ? method.toUpperCase() : '';
  if (!METHODS.includes(name))
    throw new ScimError(400, 'invalidSyntax', `The method of an operation is one of ${METHODS.join(', ')}.`);
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw new ScimError(400, 'invalidPath', 'The path of an operation begins with a slash, such as /Users.');
  if (name === 'POST' && (typeof bulkId !== 'string' || bulkId === ''))
    throw new ScimError(400, 'invalidSyntax', 'An operation that creates needs a bulkId.');
  return {
    method: name,
    bulkId: typeof bulkId === 'string' ? bulkId : null,
    path,
    version: typeof version === 'string' ? version : null,
    // What an operation that removes may have beside its path refers to nothing.
    data: name === 'DELETE' ? null : data,
  };
}

/** In their order, except that an operation follows those that create what it refers to. */
async function performAll(
  service: ScimService,
  operations: readonly BulkOperation[],
  mostErrors: number,
): Promise<readonly BulkResult[]> {
  const created = new Map<string, string>();
  const results = new Map<BulkOperation, BulkResult>();
  const done = () => operations.flatMap((one) => results.get(one) ?? []);
  let pending = operations;
  while (pending.length > 0) {
    const ready = pending.find((one) => referencesOf(one).every((id) => created.has(id)));
    // The rest refers to what was not created, or to each other.
    const operation = ready ?? pending[0];
    if (operation === undefined) break;
    pending = pending.filter((one) => one !== operation);
    const result = await performOne(service, operation, created, results.size > 0);
    results.set(operation, result);
    if (result.isLast === true || done().filter(({ isError }) => isError).length >= mostErrors) break;
  }
  return done();
}

function referencesOf({ path, data }: BulkOperation): readonly string[] {
  const found: string[] = [];
  replaceReferences([path.split('/'), data], (id) => {
    found.push(id);
    return id;
  });
  return found;
}

/** A copy in which each text `bulkId:…` is replaced. */
function replaceReferences(value: unknown, replace: (bulkId: string) => string): unknown {
  if (typeof value === 'string') {
    const bulkId = REFERENCE.exec(value)?.[1];
    return bulkId === undefined ? value : replace(bulkId);
  }
  if (Array.isArray(value)) return value.map((one) => replaceReferences(one, replace));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, replaceReferences(member, replace)]),
  );
}

/**
 * @param isLater whether others were performed before: then an outage is a result, so that the response reports those
 * @throws OAuthError `temporarily_unavailable` for an outage at the first
 */
async function performOne(
  service: ScimService,
  { method, bulkId, path, version, data }: BulkOperation,
  created: Map<string, string>,
  isLater: boolean,
): Promise<BulkResult> {
  const named = { method, ...(bulkId !== null && { bulkId }) };
  const resolve = (reference: string) => {
    const id = created.get(reference);
    if (id === undefined)
      throw new ScimError(
        409,
        'invalidValue',
        `No operation created ${JSON.stringify(reference.slice(0, 100))}.`,
      );
    return id;
  };
  try {
    const segments = path.split('/').map((segment) => replaceReferences(segment, resolve));
    const request = {
      method,
      path: segments.join('/'),
      parameters: new URLSearchParams(),
      ifMatch: version,
      ifNoneMatch: null,
      body: replaceReferences(data, resolve),
    };
    const outcome = await service.runInSlot(() => handleScimRequest(service, request));
    const { location } = outcome.headers;
    if (bulkId !== null && method === 'POST') created.set(bulkId, location?.split('/').at(-1) ?? '');
    return {
      isError: false,
      document: { ...named, ...describe(outcome, `${service.base}${segments.join('/')}`) },
    };
  } catch (error) {
    const outage = isLater ? readOutage(error) : null;
    const refusal = error instanceof ScimError ? error : outage;
    if (refusal === null) throw error;
    const response = scimErrorDocument(refusal);
    const location = method === 'POST' ? {} : { location: `${service.base}${path}` };
    const document = { ...named, ...location, status: String(refusal.status), response };
    return { isError: true, isLast: outage !== null, document };
  }
}

function readOutage(error: unknown): ScimError | null {
  if (!(error instanceof OAuthError) || error.code !== 'temporarily_unavailable') return null;
  return new ScimError(503, null, error.description);
}

function describe({ status, headers }: ScimOutcome, path: string): object {
  const { etag, location = path } = headers;
  return { location, ...(etag !== undefined && { version: etag }), status: String(status) };
}
