/** Getting tokens anew: find out how the server is authorized, plan what to ask for, and ask by the grant of the configuration. */

import type { AuthorizationCodeGrant } from '../authorization/authorization-code.ts';
import { requestDeviceTokens, requireDeviceEndpoint } from '../authorization/device-authorization.ts';
import { requestMachineTokens } from '../authorization/machine-grants.ts';
import { planScopes, type ScopePlan } from '../authorization/scope-plan.ts';
import type { ServerChallenge } from '../discovery/challenge.ts';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import type { ServerDiscovery } from '../discovery/server-discovery.ts';
import { createDpopKey, DPOP_ALGORITHM } from '../dpop/proof.ts';
import type { PrivateEcJwk } from '../jwk.ts';
import { isUnknownClientError } from '../registration/registration-status.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialKey } from '../storage/credential-store.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';

/** What is asked for, once the server is known; `null`: nothing. */
export type Planner = (discovery: DiscoveryResult) => ScopePlan | null | Promise<ScopePlan | null>;

/** Everything that is known before anybody is asked. */
interface Prepared {
  readonly discovery: DiscoveryResult;
  readonly plan: ScopePlan;
  /** The key that the token will be bound to; `null`: a bearer token. */
  readonly dpopKey: PrivateEcJwk | null;
}

export interface Obtainer {
  /** The plan of a first request. */
  readonly planFirst: (discovery: DiscoveryResult) => ScopePlan;
  /** Discovers and plans; `null` when the plan is to ask for nothing. */
  prepare(challenge: ServerChallenge, plan: Planner): Promise<Prepared | null>;
  /** Asks. A registration that the server has forgotten is made anew, once. */
  obtain(key: CredentialKey, prepared: Prepared, prompt: string | null): Promise<Tokens>;
}

export interface ObtainerHands {
  readonly finder: ServerDiscovery;
  readonly registry: StoredRegistrations;
  readonly signIn: AuthorizationCodeGrant;
  readonly tokens: TokenEndpointContext;
}

/** Makes the obtainer of a client. */
export function createObtainer(configuration: ClientSettings, hands: ObtainerHands): Obtainer {
  const { grant } = configuration;

  return {
    planFirst: (discovery) => planScopes(discovery, configuration.scopes),

    async prepare(challenge, planner) {
      const discovery = await hands.finder.discoverFrom(challenge);
      // Nobody is registered for what is not offered.
      if (grant.kind === 'device') requireDeviceEndpoint(discovery);
      const plan = await planner(discovery);
      if (plan === null) return null;
      return { discovery, plan, dpopKey: wantsDpop(discovery) ? await createDpopKey() : null };
    },

    async obtain(key, prepared, prompt) {
      try {
        return await ask(prepared, prompt);
      } catch (error) {
        if (!isUnknownClientError(error) || !(await hands.registry.discard(key, error.message))) throw error;
        return ask(prepared, prompt);
      }
    },
  };

  async function ask(prepared: Prepared, prompt: string | null): Promise<Tokens> {
    if (grant.kind === 'user') return hands.signIn.run({ ...prepared, prompt });
    const { discovery, plan, dpopKey } = prepared;
    const registration = await hands.registry.register(discovery, []);
    const situation = {
      ...{ hands: hands.tokens, discovery, registration, scopes: plan.scopes, dpopKey },
      isChosen: configuration.scopes.only !== undefined,
    };
    return grant.kind === 'device'
      ? requestDeviceTokens(grant, situation)
      : requestMachineTokens(grant, situation);
  }

  /** Bound where both servers can, and the protected one asks for it. @see RFC 9449 §5.1 and §7.1 */
  function wantsDpop({ challenge, resourceMetadata, metadata }: DiscoveryResult): boolean {
    const offered = metadata.dpop_signing_alg_values_supported?.includes(DPOP_ALGORITHM) === true;
    if (!offered || configuration.dpop === 'never') return false;
    const asked = challenge.dpop || resourceMetadata?.dpop_bound_access_tokens_required === true;
    return asked || configuration.dpop === 'when-offered';
  }
}
