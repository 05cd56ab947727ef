/** The token endpoint: read, authenticate the client, let its grant do the rest. */
import { readFormBody, respondCorsJson } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { AuthenticateClient } from '../clients/authenticate-client.ts';
import type { RecordClientUse } from '../clients/clients.ts';
import type { Route } from '../http/router.ts';
import type { GrantHandler } from './grant.ts';

/** @see OAuth 2.1 draft 13 §3.2 */
export function createTokenEndpoint(
  grants: ReadonlyMap<string, GrantHandler>,
  authenticate: AuthenticateClient,
  recordClientUse: RecordClientUse,
  isHttps: boolean,
): Route {
  return {
    method: 'POST',
    path: '/token',
    crossOrigin: true,
    async handle(request, connection) {
      const form = await readFormBody(request);
      const client = await authenticate(request, form, connection);
      const type = form.required('grant_type');
      const grant = grants.get(type);
      if (grant === undefined) {
        const offered = [...grants.keys()].join(', ');
        throw new OAuthError('unsupported_grant_type', `The grant_type must be one of ${offered}.`);
      }
      if (!client.metadata.grant_types.includes(type)) {
        throw new OAuthError('unauthorized_client', `This client has not registered the grant type ${type}.`);
      }
      const answer = await grant(client, form, connection);
      const noting = recordClientUse(client);
      if (noting !== null) await noting;
      return respondCorsJson(answer, { isHttps });
    },
  };
}
