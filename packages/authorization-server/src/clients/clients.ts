/** The room of clients, put together: how one is found, proven and kept alive, and where it registers. */
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import { type AuthenticateClient, createAuthenticateClient } from './authenticate-client.ts';
import { createValidateClientAssertion } from './client-assertion.ts';
import { createClientKeys } from './client-keys.ts';
import { createFindClient, type FindClient } from './find-client.ts';
import { createRecordClientUse, type RecordClientUse } from './life.ts';
import { createClientConfigurationEndpoint } from './manage-registration.ts';
import { createFetchBudget } from './metadata-document/fetch-budget.ts';
import { createFetchJson } from './metadata-document/fetch-json.ts';
import { createResolveDocumentClient } from './metadata-document/resolve-document-client.ts';
import { createRegistrationEndpoint } from './register.ts';
import { createVerifyClientCredentials } from './verify-client-credentials.ts';

export interface Clients {
  readonly findClient: FindClient;
  readonly authenticateClient: AuthenticateClient;
  readonly recordClientUse: RecordClientUse;
  readonly routes: readonly Route[];
}

export function createClients(context: ServerContext): Clients {
  const {
    clock,
    options: { registration, metadataDocuments, outbound },
  } = context;
  // A budget for each: anybody can have documents asked for, and that must not keep known clients from being proven.
  const fetchOnBudget = () => createFetchJson({ ...outbound, budget: createFetchBudget(clock) });
  const findDocumentClient =
    metadataDocuments === null
      ? null
      : createResolveDocumentClient(context, metadataDocuments, fetchOnBudget());
  const findClient = createFindClient(context, findDocumentClient);
  const checkAssertion = createValidateClientAssertion(context, createClientKeys(fetchOnBudget(), clock));
  return {
    findClient,
    authenticateClient: createAuthenticateClient(
      context,
      createVerifyClientCredentials(findClient, checkAssertion),
    ),
    recordClientUse: createRecordClientUse(context),
    routes:
      registration === null
        ? []
        : [
            createRegistrationEndpoint(context, registration),
            ...(registration.management ? createClientConfigurationEndpoint(context) : []),
          ],
  };
}
