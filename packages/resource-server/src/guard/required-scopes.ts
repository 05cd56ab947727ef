/**
 * Determines the scopes that a request requires: those of the resource, of the route, and of every operation in its
 * body.
 */
import { isScope, type Scopes, unionScopes } from '@portcullis/protocol/protected-resource';
import type { ProtectedResource } from '../settings.ts';
import { readOperations } from './operations.ts';
import { parseBody, type ReadBody } from './request-body.ts';

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

/**
 * Returns all scopes that a request requires, so that one step-up suffices.
 * @throws OAuthError `invalid_request` if the body is not JSON or too long, 429 if the user sends too much
 */
export async function requiredScopes(
  resource: ProtectedResource,
  request: { readonly scopes?: Scopes | undefined; readonly body?: ReadBody | undefined },
  { limit, charge }: BodyLimits,
): Promise<Scopes> {
  const known = staticScopes(resource, request.scopes);
  if (resource.scopesFor === null || request.body === undefined) return known;
  const body = await request.body(limit);
  if (typeof body === 'string' || body instanceof Uint8Array) charge(body.length);
  return scopesOfBody(resource.scopesFor, body, known);
}

function scopesOfBody(
  scopesFor: NonNullable<ProtectedResource['scopesFor']>,
  body: unknown,
  known: Scopes,
): Scopes {
  const needed = new Set(known);
  for (const operation of readOperations(parseBody(body))) {
    for (const scope of scopesFor(operation)) needed.add(scope);
  }
  const wrong = [...needed].find((scope) => !isScope(scope));
  if (wrong !== undefined)
    throw new TypeError(`scopesFor returned ${JSON.stringify(wrong)}, which is not a scope`);
  return [...needed];
}
