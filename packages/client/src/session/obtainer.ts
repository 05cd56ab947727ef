/** Getting tokens anew: find out how the server is authorized, plan what to ask for, and ask by the grant of the configuration. */
import { planScopes, type ScopePlan } from '../authorization/scope-plan.ts';
import type { SignIn } from '../authorization/sign-in.ts';
import type { Configuration } from '../configuration.ts';
import type { ServerChallenge } from '../discovery/challenge.ts';
import type { Discovery } from '../discovery/conclude.ts';
import type { Finder } from '../discovery/finder.ts';
import { createDpopKey, DPOP_ALGORITHM } from '../dpop/proof.ts';
import { obtainByDevice, requireDeviceEndpoint } from '../grants/device.ts';
import { obtainByMachine } from '../grants/machine.ts';
import type { EllipticJwk } from '../keys/jwk.ts';
import { isDeadClient } from '../registration/standing.ts';
import type { Registry } from '../registry/registry.ts';
import type { CredentialKey } from '../store/credential-store.ts';
import type { TokenHands } from '../tokens/token-endpoint.ts';
import type { Tokens } from '../tokens/tokens.ts';

/** What is asked for, once the server is known; `null`: nothing. */
export type Planner = (discovery: Discovery) => ScopePlan | null | Promise<ScopePlan | null>;

/** Everything that is known before anybody is asked. */
interface Prepared {
  readonly discovery: Discovery;
  readonly plan: ScopePlan;
  /** The key that the token will be bound to; `null`: a bearer token. */
  readonly dpopKey: EllipticJwk | null;
}

export interface Obtainer {
  /** The plan of a first request. */
  readonly planFirst: (discovery: Discovery) => ScopePlan;
  /** Discovers and plans; `null` when the plan is to ask for nothing. */
  prepare(challenge: ServerChallenge, plan: Planner): Promise<Prepared | null>;
  /** Asks. A registration that the server has forgotten is made anew, once. */
  obtain(key: CredentialKey, prepared: Prepared, prompt: string | null): Promise<Tokens>;
}

export interface ObtainerHands {
  readonly finder: Finder;
  readonly registry: Registry;
  readonly signIn: SignIn;
  readonly tokens: TokenHands;
}

/** Makes the obtainer of a client. */
export function createObtainer(configuration: Configuration, hands: ObtainerHands): Obtainer {
  const { grant } = configuration;

  return {
    planFirst: (discovery) => planScopes(discovery, configuration.scopes),

    async prepare(challenge, planner) {
      const discovery = await hands.finder.find(challenge);
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
        if (!isDeadClient(error) || !(await hands.registry.dropDead(key, error.message))) throw error;
        return ask(prepared, prompt);
      }
    },
  };

  async function ask(prepared: Prepared, prompt: string | null): Promise<Tokens> {
    if (grant.kind === 'person') return hands.signIn.run({ ...prepared, prompt });
    const { discovery, plan, dpopKey } = prepared;
    const registration = await hands.registry.register(discovery, []);
    const situation = {
      ...{ hands: hands.tokens, discovery, registration, scopes: plan.scopes, dpopKey },
      isChosen: configuration.scopes.only !== undefined,
    };
    return grant.kind === 'device' ? obtainByDevice(grant, situation) : obtainByMachine(grant, situation);
  }

  /** Bound where both servers can, and the protected one asks for it. @see RFC 9449 §5.1 and §7.1 */
  function wantsDpop({ challenge, resourceMetadata, metadata }: Discovery): boolean {
    const offered = metadata.dpop_signing_alg_values_supported?.includes(DPOP_ALGORITHM) === true;
    if (!offered || configuration.dpop === 'never') return false;
    const asked = challenge.dpop || resourceMetadata?.dpop_bound_access_tokens_required === true;
    return asked || configuration.dpop === 'when-offered';
  }
}
