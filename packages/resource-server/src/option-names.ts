/** The names of all options of a guard: any other is refused, for a rule that is spelled wrong would protect nothing. */
import { type Names, unknownNames } from '@portcullis/protocol/known-names';
import type { CertificateOptions } from './certificates.ts';
import type { DpopOptions } from './dpop/options.ts';
import type { GuardOptions, GuardSettings, ResourceOptions } from './options.ts';
import type { StreamOptions } from './stream-options.ts';

const RESOURCE: Names<ResourceOptions> = {
  ...{ resource: true, name: true, documentation: true, authorizationServers: true, scopes: true },
  ...{ defaultScopes: true, hierarchy: true, scopesFor: true, verifier: true },
};

const SETTINGS: Names<GuardSettings> = {
  ...{ verifier: true, profiles: true, origins: true, hosts: true, skew: true, rememberedTokens: true },
  ...{ dpop: true, certificates: true, bodyLimit: true, streams: true, events: true, clock: true },
};

const DPOP: Names<DpopOptions> = {
  ...{ required: true, algorithms: true, window: true, replays: true, nonces: true },
};
const NONCES: Names<NonNullable<DpopOptions['nonces']>> = { secret: true, lifetime: true };
const CERTIFICATES: Names<CertificateOptions> = { from: true };
const STREAMS: Names<StreamOptions> = { grace: true, every: true };

/** Faults of names. With several resources, what one says stands with it: beside them it would be about none. */
export function issuesOfNames(options: GuardOptions): readonly string[] {
  const several = 'resources' in options ? options.resources : null;
  return [
    ...unknownNames(options, { ...SETTINGS, ...(several === null ? RESOURCE : { resources: true }) }),
    ...(several ?? []).flatMap((resource, index) => unknownNames(resource, RESOURCE, `resources.${index}.`)),
    ...unknownNames(options.dpop, DPOP, 'dpop.'),
    ...unknownNames(options.dpop?.nonces, NONCES, 'dpop.nonces.'),
    ...unknownNames(options.certificates, CERTIFICATES, 'certificates.'),
    ...unknownNames(options.streams, STREAMS, 'streams.'),
  ];
}
