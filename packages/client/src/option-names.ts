/** The names of all options of a client: any other is refused, for a wish that is spelled wrong would not be granted. */
import { type OptionNames, unknownOptionIssues } from '@portcullis/protocol';
import type { ScopeSettings } from './authorization/scope-plan.ts';
import type { ClientLimits, ClientOptions } from './options.ts';
import type { PreregisteredClient, RegistrationSettings } from './registration/registration.ts';

const OPTIONS: OptionNames<ClientOptions> = {
  ...{ serverUrl: true, grant: true, registration: true, browser: true, receiver: true, store: true },
  ...{ account: true, fetch: true, oauthFetch: true, mapFetchError: true, revision: true },
  ...{ versionHeader: true, scopes: true, trustedOrigins: true, issuerAliases: true, dpop: true },
  ...{ resourceIndicators: true, orderAuthorizationServers: true, confirmStepUp: true, retryStepUp: true },
  ...{ onEvent: true, clock: true, random: true, sleep: true, limits: true },
};

const SCOPES: OptionNames<ScopeSettings> = { add: true, only: true };
const LIMITS: OptionNames<ClientLimits> = {
  timeout: true,
  maxBytes: true,
  retryDelays: true,
  cooldown: true,
  stepUps: true,
};
const REGISTRATION: OptionNames<RegistrationSettings> = {
  ...{ preregistered: true, metadataDocumentUrl: true, metadataDocumentKey: true, clientName: true },
  ...{ clientUri: true, softwareId: true, softwareVersion: true, ask: true },
};
const PREREGISTERED: OptionNames<PreregisteredClient> = {
  ...{ issuer: true, clientId: true, clientSecret: true, signingKey: true },
  ...{ authentication: true, redirectUris: true },
};

/** Faults of names, in the options and in what they hold. */
export function issuesOfNames(options: ClientOptions): readonly string[] {
  const { preregistered = [] } = options.registration ?? {};
  return [
    ...unknownOptionIssues(options, OPTIONS),
    ...unknownOptionIssues(options.scopes, SCOPES, 'scopes.'),
    ...unknownOptionIssues(options.limits, LIMITS, 'limits.'),
    ...unknownOptionIssues(options.registration, REGISTRATION, 'registration.'),
    ...preregistered.flatMap((client, index) =>
      unknownOptionIssues(client, PREREGISTERED, `registration.preregistered.${index}.`),
    ),
  ];
}
