/** Explains why the client stopped: who is responsible, which requirement applies, and how to fix it. */
import type { ClientError, ClientErrorCode } from '@portcullis/client';
import type { Finding, ResponsibleParty, StepName } from './report.ts';

interface FailureExplanation {
  readonly owner: ResponsibleParty;
  readonly requirement: string | null;
  readonly remedy: string;
}

const explain = (
  owner: ResponsibleParty,
  requirement: string | null,
  remedy: string,
): FailureExplanation => ({
  owner,
  requirement,
  remedy,
});

const AGAIN = 'Find out why it is unavailable, and try again.';
const SETTINGS = 'Correct the options.';

const explanations: Readonly<Record<ClientErrorCode, FailureExplanation>> = {
  configuration_invalid: explain('you', null, SETTINGS),
  server_url_invalid: explain('you', null, 'Pass the https URL of the server.'),
  unreachable: explain('network', null, 'Check that the address is right and the server is running.'),
  temporarily_unavailable: explain('server', null, AGAIN),
  address_refused: explain('network', null, 'Pass --trust-origin if the private address is intended.'),
  insecure_url: explain('authorization server', 'AS-HTTPS-1', 'Serve it over https.'),
  redirected: explain('server', null, 'Serve the document where clients look for it.'),
  response_too_large: explain('server', null, 'Send a smaller document.'),
  metadata_missing: explain('authorization server', 'AS-META-20', 'Serve metadata at a well-known location.'),
  metadata_invalid: explain(
    'authorization server',
    'AS-META-3',
    'Serve a document that conforms to the specification.',
  ),
  resource_mismatch: explain('server', 'S-PRM-64', 'Set resource to the URL of the server.'),
  issuer_mismatch: explain('authorization server', 'AS-META-60', 'Use one issuer everywhere, byte for byte.'),
  endpoint_refused: explain(
    'authorization server',
    null,
    'Keep the endpoints at the origin of the issuer, or have every client trust the other origin (--trust-origin).',
  ),
  pkce_unsupported: explain(
    'authorization server',
    'AS-META-62',
    'List S256 in code_challenge_methods_supported.',
  ),
  registration_needed: explain('you', null, 'Register a client manually and pass it as --client-id.'),
  registration_refused: explain(
    'authorization server',
    'AS-DCR-60',
    'Allow public native clients with the authorization code grant to register.',
  ),
  registration_issuer_mismatch: explain('you', null, 'Pass the client that is registered with this issuer.'),
  sign_in_needed: explain('you', null, 'Run it where a browser is available.'),
  authorization_url_refused: explain(
    'authorization server',
    'AS-HTTPS-1',
    'Serve the sign-in page over https.',
  ),
  authorization_denied: explain('you', null, 'Allow the request, if you want to.'),
  authorization_failed: explain(
    'authorization server',
    'AS-AUTHZ-1',
    'Accept authorization requests of registered clients.',
  ),
  response_rejected: explain(
    'authorization server',
    'AS-ISS-60',
    'Return state and iss as the specification requires.',
  ),
  cancelled: explain('you', null, 'Finish signing in before the timeout.'),
  token_refused: explain(
    'authorization server',
    'AS-TOK-64',
    'Accept codes issued by the authorization endpoint.',
  ),
  token_response_invalid: explain(
    'authorization server',
    'AS-TOK-64',
    'Send token responses that conform to the specification.',
  ),
  store_unusable: explain('you', null, SETTINGS),
};

export function describeClientError(step: StepName, error: ClientError): Finding {
  const { owner, requirement, remedy } = explanations[error.code];
  // The same error can occur at either server.
  const atServer = step === 'resource metadata' || step === 'call' || step === 'request';
  const responsible = atServer && owner === 'authorization server' ? 'server' : owner;
  const cited = responsible === owner ? requirement : serverRequirement(requirement);
  return {
    ...{ step, requirement: cited, severity: 'error', owner: responsible, message: error.message, remedy },
    ...{ temporary: error.temporary, revisions: [] },
  };
}

function serverRequirement(requirement: string | null): string | null {
  if (requirement === 'AS-META-20') return 'S-PRM-20';
  return requirement === 'AS-META-3' ? 'S-PRM-62' : null;
}
