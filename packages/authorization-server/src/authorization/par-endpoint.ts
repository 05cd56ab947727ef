/** The pushed authorization request endpoint: accepts an authorization request from its authenticated client (RFC 9126). */
import { type ConnectionInfo, type HttpRequest, readFormBody, respondCorsJson } from '@portcullis/http';
import {
  AUTHORIZATION_PARAMETERS,
  OAuthError,
  type Parameters,
  type VerifiedProof,
} from '@portcullis/protocol';
import type { AuthenticateClient } from '../clients/authenticate-client.ts';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { type DpopProofs, hasProof } from '../dpop/dpop-proofs.ts';
import type { Route } from '../http/router.ts';
import { checkRequest, checkSigned } from './check-request.ts';
import type { AuthorizationContext } from './page-context.ts';
import type { PushedRequests } from './pushed-request.ts';
import type { ReadRequestObject } from './request-object.ts';
import { resolveRedirectTarget } from './resolve-client.ts';
import { resolveScopes } from './resolve-scopes.ts';

interface PushServices {
  readonly authenticate: AuthenticateClient;
  readonly proofs: DpopProofs;
  readonly pushedRequests: PushedRequests;
  readonly readRequestObject: ReadRequestObject;
}

/** Every check of the authorization endpoint is made here too, so that the client learns of an error before its user. */
export function createPushedRequestEndpoint(context: AuthorizationContext, services: PushServices): Route {
  const { authenticate, proofs, pushedRequests, readRequestObject } = services;
  const { options } = context;
  const isHttps = options.issuer.startsWith('https:');
  return {
    method: 'POST',
    path: '/par',
    crossOrigin: true,
    async handle(request: HttpRequest, connection: ConnectionInfo) {
      const form = await readFormBody(request);
      const client = await authenticate(request, form, connection);
      // It is REQUIRED of every authorization request, also where other credentials name the client; a signed request has it inside.
      // RFC 9126 §2.1, §3
      if (form.one('request') === undefined) form.required('client_id');
      const proof = hasProof(request) ? await proofs.verify(request, '/par') : null;
      if (form.one('request_uri') !== undefined)
        throw new OAuthError('invalid_request', 'A pushed request cannot contain request_uri.');
      checkSigned(client, form.one('request') !== undefined);
      const parameters = await readRequestObject(client, form, connection);
      check(client, parameters);
      const keyThumbprint = chooseKey(parameters, proof);
      const requestUri = pushedRequests.write(client.id, pairsOf(client, parameters, keyThumbprint));
      const headers = proof === null ? undefined : await proofs.nonceHeaders();
      const response = { request_uri: requestUri, expires_in: options.lifetimes.transaction };
      return respondCorsJson(response, { isHttps, status: 201, ...(headers && { headers }) });
    },
  };

  function check(client: AuthenticatedClient, parameters: Parameters): void {
    resolveRedirectTarget(client, parameters.one('redirect_uri'), options.redirects);
    resolveScopes(options, client, checkRequest(client, parameters));
  }
}

/**
 * The key of a proof is as good as `dpop_jkt`; both MUST agree. As that needs no proof at all, a proof is not marked as used: anyone
 * could fill the store with proofs. @see RFC 9449 §10.1
 */
function chooseKey(parameters: Parameters, proof: VerifiedProof | null): string | null {
  const named = parameters.one('dpop_jkt') ?? null;
  if (proof === null || named === null || named === proof.thumbprint) return proof?.thumbprint ?? named;
  throw new OAuthError('invalid_dpop_proof', 'The dpop_jkt is not the key of the DPoP proof.', {
    reason: 'dpop_jkt differs from the key of the proof',
  });
}

/** Only what an authorization request may contain: no credentials. */
function pairsOf(
  client: AuthenticatedClient,
  parameters: Parameters,
  keyThumbprint: string | null,
): [string, string][] {
  const names = AUTHORIZATION_PARAMETERS.filter((name) => !REPLACED.has(name));
  return [
    ['client_id', client.id],
    ...names.flatMap((name) => parameters.all(name).map((value): [string, string] => [name, value])),
    ...(keyThumbprint === null ? [] : [['dpop_jkt', keyThumbprint] satisfies [string, string]]),
  ];
}

const REPLACED: ReadonlySet<string> = new Set(['client_id', 'dpop_jkt', 'request', 'request_uri']);
