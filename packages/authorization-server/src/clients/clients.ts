/** The room of clients, put together: how one is found, proven and kept alive, and where it registers. */
import type { Configuration } from '../configuration.ts';
import type { Limits } from '../limits/limits.ts';
import type { Route } from '../routes.ts';
import { createCheckAssertion } from './assertions.ts';
import { createAuthenticate } from './authenticate.ts';
import { createClientKeys } from './client-keys.ts';
import { createFindDocumentClient } from './documents/find-document-client.ts';
import { createFindClient, type FindClient } from './find-client.ts';
import { createNoteUse, type NoteUse } from './life.ts';
import { type LimitedAuthenticate, limitAuthentication } from './limit-authentication.ts';
import { createManagement } from './manage.ts';
import { createRegistration } from './register.ts';
import { createBudget } from './remote/budget.ts';
import { createFetchJson } from './remote/remote-json.ts';

export interface Clients {
  readonly findClient: FindClient;
  readonly authenticate: LimitedAuthenticate;
  readonly noteUse: NoteUse;
  readonly routes: readonly Route[];
}

export function createClients(configuration: Configuration, limits: Limits): Clients {
  const { registration, metadataDocuments, outbound, clock } = configuration;
  // A budget for each: anybody can have documents asked for, and that must not keep known clients from being proven.
  const fetchOnBudget = () => createFetchJson({ ...outbound, budget: createBudget(clock) });
  const findDocumentClient =
    metadataDocuments === null
      ? null
      : createFindDocumentClient(configuration, metadataDocuments, fetchOnBudget());
  const findClient = createFindClient(configuration, findDocumentClient);
  const checkAssertion = createCheckAssertion(configuration, createClientKeys(fetchOnBudget(), clock));
  return {
    findClient,
    authenticate: limitAuthentication(configuration, createAuthenticate(findClient, checkAssertion)),
    noteUse: createNoteUse(configuration),
    routes:
      registration === null
        ? []
        : [
            createRegistration(configuration, registration, limits.registrationTurn),
            ...(registration.management ? createManagement(configuration) : []),
          ],
  };
}
