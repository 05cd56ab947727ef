/** The end of every sign-in: a session is opened, and the errand goes on. */
import type { AccountRecord } from '../ports/index.ts';
import type { Peer } from '../routes.ts';
import type { Errand } from './errands.ts';
import type { Rooms } from './rooms.ts';

/** Lets somebody in who has proven to be the owner of an account. */
export type Welcome = (
  request: Request,
  peer: Peer,
  errand: Errand,
  account: AccountRecord,
  /** Whether it was proven by one factor or by both. */
  proof: 'one' | 'both',
) => Promise<Response>;

export function createWelcome({ configuration, sessions }: Rooms): Welcome {
  return async (request, peer, errand, account) => {
    configuration.events({ type: 'account.signed-in', accountId: account.id });
    return errand.proceedAs(account.id, await sessions.open(request, peer, account.id));
  };
}
