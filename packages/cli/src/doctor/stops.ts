/** Why the client would go no further, in the words of a doctor: whose fault it is, by which requirement, and what helps. */
import type { ClientError, ClientErrorCode } from '@portcullis/client';
import type { Finding, Owner, StepName } from './report.ts';

interface Stop {
  readonly owner: Owner;
  readonly requirement: string | null;
  readonly remedy: string;
}

const stop = (owner: Owner, requirement: string | null, remedy: string): Stop => ({
  owner,
  requirement,
  remedy,
});

const AGAIN = 'Look why it is out of order, and try again.';
const SETTINGS = 'Correct the options.';

const stops: Readonly<Record<ClientErrorCode, Stop>> = {
  configuration_invalid: stop('you', null, SETTINGS),
  server_url_invalid: stop('you', null, 'Give the https URL of the server.'),
  unreachable: stop('network', null, 'Look whether the address is right and the server runs.'),
  temporarily_unavailable: stop('server', null, AGAIN),
  address_refused: stop('network', null, 'Add --trust-origin if that private address is meant.'),
  insecure_url: stop('authorization server', 'AS-HTTPS-1', 'Serve it by https.'),
  redirected: stop('server', null, 'Serve the document at the place where clients look for it.'),
  response_too_large: stop('server', null, 'Send a shorter document.'),
  metadata_missing: stop('authorization server', 'AS-META-20', 'Serve metadata at a well-known place.'),
  metadata_invalid: stop(
    'authorization server',
    'AS-META-3',
    'Serve a document as the specification describes it.',
  ),
  resource_mismatch: stop('server', 'S-PRM-64', 'Set resource to the URL of the server.'),
  issuer_mismatch: stop('authorization server', 'AS-META-60', 'Use one issuer everywhere, byte for byte.'),
  endpoint_refused: stop(
    'authorization server',
    null,
    'Keep the endpoints at the origin of the issuer, or have every client trust the other origin (--trust-origin).',
  ),
  pkce_unsupported: stop(
    'authorization server',
    'AS-META-62',
    'List S256 in code_challenge_methods_supported.',
  ),
  registration_needed: stop('you', null, 'Register a client by hand, and give it by --client-id.'),
  registration_refused: stop(
    'authorization server',
    'AS-DCR-60',
    'Let native clients register that are public and use the code grant.',
  ),
  registration_issuer_mismatch: stop('you', null, 'Give the client that is registered with this issuer.'),
  sign_in_needed: stop('you', null, 'Run it with a browser.'),
  authorization_url_refused: stop('authorization server', 'AS-HTTPS-1', 'Serve the sign-in page by https.'),
  authorization_denied: stop('you', null, 'Allow it, if that is what you want.'),
  authorization_failed: stop(
    'authorization server',
    'AS-AUTHZ-1',
    'Take authorization requests of registered clients.',
  ),
  response_rejected: stop(
    'authorization server',
    'AS-ISS-60',
    'Send state and iss back as the specification says.',
  ),
  cancelled: stop('you', null, 'Finish the sign-in in time.'),
  token_refused: stop('authorization server', 'AS-TOK-64', 'Redeem codes of the authorization endpoint.'),
  token_response_invalid: stop(
    'authorization server',
    'AS-TOK-64',
    'Answer token requests as the specification says.',
  ),
  store_unusable: stop('you', null, SETTINGS),
};

export function findingOf(step: StepName, error: ClientError): Finding {
  const { owner, requirement, remedy } = stops[error.code];
  // The same thing can be wrong with either server.
  const ours = step === 'resource metadata' || step === 'call' || step === 'request';
  const here = ours && owner === 'authorization server' ? 'server' : owner;
  const names = here === owner ? requirement : serverRequirement(requirement);
  return {
    ...{ step, requirement: names, gravity: 'fault', owner: here, what: error.message, remedy },
    ...{ temporary: error.temporary, revisions: [] },
  };
}

function serverRequirement(requirement: string | null): string | null {
  if (requirement === 'AS-META-20') return 'S-PRM-20';
  return requirement === 'AS-META-3' ? 'S-PRM-62' : null;
}
