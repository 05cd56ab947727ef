/** The shape of limits: how often what may be done. */
import { defaultRateLimits, type RateLimitOptions } from '@portcullis/authorization-server';
import { Issue } from '../../faults.ts';
import { type Shape, wholeNumber } from '../shapes.ts';
import { type MembersOf, MUST, object } from '../structured-shapes.ts';

interface Rate {
  readonly burst: number;
  readonly perMinute: number;
}

const LIMITS: Readonly<Record<keyof RateLimitOptions, string>> = {
  refreshes: 'refreshes of one grant, over all processes',
  clientTokens: 'tokens that one program gets for itself, over all processes',
  exchanges: 'tokens of third parties that a protected server gets for one grant, over all processes',
  clientFailures: 'failed authentications of one client from one network, over all processes',
  networkFailures: 'failed authentications from one network, over all processes',
  registrations: 'registrations from one network, over all processes',
  authorizations:
    'authorization requests of one account, or of strangers from one network, over all processes',
  federatedLogins:
    'departures to third parties of one account, or of one request of an app, over all processes',
  signIns: 'attempts to sign in to one account from one network, over all processes',
};

const EXAMPLE = '{ "burst": 20, "perMinute": 2 }';

const members = object<Rate>({
  burst: { what: 'how many at once', shape: count(), otherwise: MUST },
  perMinute: { what: 'how many a minute from then on', shape: count(), otherwise: MUST },
});

const rate: Shape<Rate> = {
  ...members,
  words: '{ burst, perMinute }',
  members: [],
  read(value, origin) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Issue(`must be an object with burst and perMinute, such as ${EXAMPLE}`);
    }
    return members.read(value, origin);
  },
};

/** No limit reaches a billion. */
function count(): Shape<number> {
  return { ...wholeNumber(1, 1_000_000_000), words: `a whole number, as in ${EXAMPLE}` };
}

export const limits: Shape<RateLimitOptions> = object<RateLimitOptions>(
  Object.fromEntries(
    Object.entries(LIMITS).map(([name, what]) => {
      const { burst, perMinute } = defaultRateLimits[name as keyof RateLimitOptions];
      return [name, { what, shape: rate, otherwise: `${burst} at once, ${perMinute} a minute` }];
    }),
  ) as unknown as MembersOf<RateLimitOptions>,
);
