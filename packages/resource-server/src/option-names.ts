/** All option names of a guard; others are rejected, since a misspelled security option would have no effect. */
import { type OptionNames, unknownOptionIssues } from '@portcullis/protocol';
import type { DpopOptions } from './dpop/dpop-options.ts';
import type {
  CertificateOptions,
  GuardOptions,
  ResourceOptions,
  SharedGuardOptions,
  StreamOptions,
} from './options.ts';

const RESOURCE: OptionNames<ResourceOptions> = {
  ...{ resource: true, name: true, documentation: true, authorizationServers: true, scopes: true },
  ...{
    defaultScopes: true,
    hierarchy: true,
    scopesFor: true,
    publicOperations: true,
    authenticationFor: true,
    verifier: true,
  },
};

const SETTINGS: OptionNames<SharedGuardOptions> = {
  ...{
    verifier: true,
    profiles: true,
    origins: true,
    hosts: true,
    clockTolerance: true,
    tokenCacheSize: true,
  },
  ...{
    dpop: true,
    certificates: true,
    bodyLimit: true,
    bodyBudget: true,
    streams: true,
    events: true,
    clock: true,
  },
};

const DPOP: OptionNames<DpopOptions> = {
  ...{ required: true, algorithms: true, window: true, replays: true, nonces: true },
};
const NONCES: OptionNames<NonNullable<DpopOptions['nonces']>> = {
  secret: true,
  previousSecrets: true,
  lifetime: true,
  required: true,
};
const CERTIFICATES: OptionNames<CertificateOptions> = { from: true };
const STREAMS: OptionNames<StreamOptions> = { grace: true, every: true, endedGrants: true };

/** Returns issues of unknown names. With several resources, options of one resource must not be set beside them. */
export function guardOptionNameIssues(options: GuardOptions): readonly string[] {
  const several = 'resources' in options ? options.resources : null;
  return [
    ...unknownOptionIssues(options, { ...SETTINGS, ...(several === null ? RESOURCE : { resources: true }) }),
    ...(several ?? []).flatMap((resource, index) =>
      unknownOptionIssues(resource, RESOURCE, `resources.${index}.`),
    ),
    ...unknownOptionIssues(options.dpop, DPOP, 'dpop.'),
    ...unknownOptionIssues(options.dpop?.nonces, NONCES, 'dpop.nonces.'),
    ...unknownOptionIssues(options.certificates, CERTIFICATES, 'certificates.'),
    ...unknownOptionIssues(options.streams, STREAMS, 'streams.'),
  ];
}
