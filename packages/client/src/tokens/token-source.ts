/** Obtains new tokens: discovers the authorization server, plans the scopes, and uses the grant of the settings. */
import type { AuthorizationCodeGrant, SignInInput } from '../authorization/authorization-code.ts';
import { requestDeviceTokens, requireDeviceEndpoint } from '../authorization/device-authorization.ts';
import { requestMachineTokens } from '../authorization/machine-grants.ts';
import { requireHeaderTokens } from '../authorization/request.ts';
import { planScopes, type ScopePlan } from '../authorization/scope-plan.ts';
import type { ServerChallenge } from '../discovery/challenge.ts';
import { type DiscoveryResult, requiresDpop } from '../discovery/discovery-result.ts';
import type { ServerDiscovery } from '../discovery/server-discovery.ts';
import { createDpopKey, DPOP_ALGORITHM } from '../dpop.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { ClientSettings } from '../settings.ts';
import type { Tokens } from '../storage/credentials.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';

/** Plans the scopes to request, once the server is discovered; `null`: request nothing. */
export type ScopePlanner = (discovery: DiscoveryResult) => ScopePlan | null | Promise<ScopePlan | null>;

/** Everything known before a user is asked. */
type PreparedRequest = Omit<SignInInput, 'prompt'>;

export type TokenSource = ReturnType<typeof createTokenSource>;

/** What tokens are obtained with. */
export interface TokenSourceServices {
  readonly discovery: ServerDiscovery;
  readonly registrations: StoredRegistrations;
  readonly codeGrant: AuthorizationCodeGrant;
  readonly endpoint: TokenEndpointContext;
}

/** The member of both servers' metadata. */
interface DpopMetadata {
  readonly dpop_signing_alg_values_supported?: readonly string[];
}

/** Creates the token source of a client. */
export function createTokenSource(
  { grant, scopes: scopeSettings, dpop }: Pick<ClientSettings, 'grant' | 'scopes' | 'dpop'>,
  services: TokenSourceServices,
) {
  const { registrations, codeGrant, endpoint } = services;
  let prefersBearer = false;

  return {
    /** Plans the scopes of a first request. */
    planFirst: (discovery: DiscoveryResult): ScopePlan => planScopes(discovery, scopeSettings),

    /** Discovers and plans; `null` when the plan is to request nothing. */
    async prepare(
      challenge: ServerChallenge,
      planner: ScopePlanner,
      startedBy: 'user' | 'client',
    ): Promise<PreparedRequest | null> {
      const discovery = await services.discovery.discoverFrom(challenge, startedBy);
      // Checked first, so that no client is registered in vain.
      if (grant.kind === 'device') requireDeviceEndpoint(discovery);
      const plan = await planner(discovery);
      if (plan === null) return null;
      const dpopKey = usesDpop(discovery) ? await createDpopKey() : null;
      if (dpopKey === null) requireHeaderTokens(discovery);
      return { discovery, plan, dpopKey, authentication: challenge.authentication };
    },

    /** From now on, tokens are bound only where the server accepts no others. */
    preferBearer(): void {
      prefersBearer = true;
    },
    prefersBearer: (): boolean => prefersBearer,

    /** Requests tokens. */
    obtain: (prepared: PreparedRequest, prompt: string | null): Promise<Tokens> =>
      registrations.replaceUnknown(prepared.discovery, () => requestByGrant(prepared, prompt)),
  };

  async function requestByGrant(prepared: PreparedRequest, prompt: string | null): Promise<Tokens> {
    if (grant.kind === 'user') return codeGrant.signIn({ ...prepared, prompt });
    const { discovery, plan, dpopKey } = prepared;
    const registration = await registrations.register(discovery, []);
    const input = { discovery, registration, scopes: plan.scopes, dpopKey };
    if (grant.kind === 'device') return requestDeviceTokens(grant, endpoint, input);
    return requestMachineTokens(grant, endpoint, { ...input, fixedScopes: scopeSettings.only !== undefined });
  }

  /**
   * DPoP is used where both servers support it. A protected server that says nothing about DPoP may accept bearer tokens
   * only.
   * @see RFC 9449 §5.1 and §7.1, RFC 9728 §2
   */
  function usesDpop(discovery: DiscoveryResult): boolean {
    const { challenge, resourceMetadata, metadata, issuer, server } = discovery;
    const supports = (document: DpopMetadata | null): boolean =>
      document?.dpop_signing_alg_values_supported?.includes(DPOP_ALGORITHM) === true;
    if (dpop === 'never') return false;
    const isRequired = requiresDpop(discovery);
    if (!supports(metadata)) {
      if (!isRequired) return false;
      throw new ClientError(
        'metadata_invalid',
        `${sanitizeText(server)} requires DPoP-bound tokens, but ${sanitizeText(issuer)} does not offer DPoP with ${DPOP_ALGORITHM}: dpop_signing_alg_values_supported.`,
      );
    }
    if (isRequired) return true;
    if (prefersBearer) return challenge.dpop && challenge.bearer !== true;
    if (challenge.dpop) return true;
    return dpop === 'when-offered' && supports(resourceMetadata);
  }
}
