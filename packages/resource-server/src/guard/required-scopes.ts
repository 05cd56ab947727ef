/**
 * Determines what a request requires: the scopes of the resource, of the route, and of every operation in its body, and the
 * authentication that operations demand.
 */
import {
  AROUND_OPERATIONS,
  type AuthenticationRequirement,
  isScope,
  type McpOperation,
  type Scopes,
  unionScopes,
} from '@portcullis/protocol';
import type { RequestInfo } from '../request-info.ts';
import type { ProtectedResource } from '../settings.ts';
import { readOperations } from './operations.ts';
import { parseBody } from './request-body.ts';

/** The scopes that are required whatever the body contains. */
export function staticScopes(resource: ProtectedResource, routeScopes: Scopes | undefined): Scopes {
  return routeScopes === undefined ? resource.scopes : unionScopes(resource.scopes, routeScopes);
}

/** How much of a body is read, in bytes. */
interface BodyLimits {
  readonly limit: number;
  /** Charges its length to the user. @throws OAuthError 429 */
  charge(bytes: number): void;
}

/** What the operations of a request require. */
export interface Requirements {
  /** All scopes, so that one step-up suffices. */
  readonly scopes: Scopes;
  readonly authentication: readonly AuthenticationRequirement[];
}

/** The part of a request that says what it does. */
type OperationRequest = Pick<RequestInfo, 'method' | 'scopes' | 'body'>;

/** Methods of requests that contain no operations. */
const WITHOUT_OPERATIONS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

/** Whether what a request requires depends on its body. */
export function readsBody(
  resource: Pick<ProtectedResource, 'scopesFor' | 'authenticationFor'>,
  { method, body }: OperationRequest,
): boolean {
  const dependsOnOperations = resource.scopesFor !== null || resource.authenticationFor !== null;
  return dependsOnOperations && (body !== undefined || !WITHOUT_OPERATIONS.has(method));
}

/**
 * Returns all that a request requires whose body is read.
 * @throws OAuthError `invalid_request` if the body is not JSON or too long, 429 if the user sends too much
 * @throws TypeError if the caller of the guard has not passed the body: unread operations would pass unchecked
 */
export async function findRequirements(
  resource: ProtectedResource,
  request: OperationRequest,
  limits: BodyLimits,
): Promise<Requirements> {
  const known = staticScopes(resource, request.scopes);
  const operations = await readRequestOperations(request.body, limits);
  const { scopesFor, authenticationFor } = resource;
  return {
    scopes: scopesFor === null ? known : scopesOf(scopesFor, operations, known),
    authentication: operations.flatMap((operation) => authenticationFor?.(operation) ?? []),
  };
}

async function readRequestOperations(
  read: RequestInfo['body'],
  { limit, charge }: BodyLimits,
): Promise<readonly McpOperation[]> {
  if (read === undefined)
    throw new TypeError(
      'scopesFor, authenticationFor and publicOperations need the body: pass it to guard.authorize.',
    );
  const body = await read(limit);
  if (typeof body === 'string' || body instanceof Uint8Array) charge(body.length);
  return readOperations(parseBody(body));
}

/** What decides whether a request needs a token. */
type PublicResource = Pick<ProtectedResource, 'scopes' | 'scopesFor' | 'authenticationFor'>;

/**
 * Whether all that a request does is public.
 * @throws OAuthError `invalid_request` if the body is not JSON or too long, 429 if its site sends too much
 */
export async function isPublicRequest(
  { scopes, scopesFor, authenticationFor }: PublicResource,
  { method, scopes: routeScopes = [], body }: OperationRequest,
  limits: BodyLimits,
): Promise<boolean> {
  if (scopes.length > 0 || routeScopes.length > 0) return false;
  if (scopesFor === null || (body === undefined && WITHOUT_OPERATIONS.has(method))) return true;
  const operations = await readRequestOperations(body, limits);
  return operations.every((operation) => {
    if ((authenticationFor?.(operation) ?? null) !== null) return false;
    const needed = scopesFor(operation);
    return needed === 'public' || (needed.length === 0 && AROUND_OPERATIONS.has(operation.method));
  });
}

function scopesOf(
  scopesFor: NonNullable<ProtectedResource['scopesFor']>,
  operations: readonly McpOperation[],
  known: Scopes,
): Scopes {
  const needed = new Set(known);
  for (const operation of operations) {
    const own = scopesFor(operation);
    if (own !== 'public') for (const scope of own) needed.add(scope);
  }
  const wrong = [...needed].find((scope) => !isScope(scope));
  if (wrong !== undefined)
    throw new TypeError(`scopesFor returned ${JSON.stringify(wrong)}, which is not a scope`);
  return [...needed];
}
