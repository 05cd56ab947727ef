/** Third parties put together: who is on the way, who somebody is, what grants rest on, and how all of it ends. */
import type { Configuration } from '../configuration.ts';
import type { Statuses } from '../status/statuses.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { type Bonds, createBonds, noIdentityProvider } from './bonds.ts';
import { createDepartures, type Departures } from './departure.ts';
import type { Endings } from './endings.ts';
import { createFarewells } from './farewell.ts';
import { createUsers, type Users } from './people.ts';
import type { IdentityProviderUser } from './person.ts';
import type { IdentityProvider } from './third-party.ts';
import { type Given, placeOf, timesOf } from './tokens.ts';
import { createVault } from './vault.ts';
import { createWayOf, type WayOf } from './ways.ts';
import { createWire, type Wire } from './wire.ts';

/** Somebody who came back, with what the third party gave for them. */
export interface Arrival {
  readonly identityProvider: IdentityProvider;
  readonly user: IdentityProviderUser;
  readonly given: Given;
}

export interface Upstream {
  readonly bonds: Bonds;
  readonly departures: Departures;
  readonly users: Users;
  readonly wayOf: WayOf;
  readonly wireOf: (identityProvider: IdentityProvider) => Wire;
  /** Whether a bond that was made in a transaction is this person's with this third party, and stands. */
  holds(bond: string | null, identityProvider: IdentityProvider, accountId: string | null): Promise<boolean>;
  /** Makes the bond of a transaction. @returns the grant that will rest on it; `null` when the transaction is gone */
  bind(transactionId: string, accountId: string, arrival: Arrival): Promise<string | null>;
  /** Gives back what nobody needs: its tokens are revoked at the third party. */
  discard(accountId: string | null, arrival: Arrival): Promise<void>;
  close(): Promise<void>;
}

/** Seconds after the last moment at which its code could be redeemed, when a bond without a grant is given up. */
const ORPHANED_AFTER = 120;

/** Whose a bond is that only waits for its farewell, of somebody who has no account. */
const NOBODY = 'nobody';

/** @throws ConfigurationError when the sealing key does not open what is sealed for third parties */
export async function createUpstream(
  configuration: Configuration,
  { nameGrant }: Pick<Statuses, 'nameGrant'>,
  endings: Endings,
): Promise<Upstream> {
  const { store, clock, events, lifetimes, identityProviders } = configuration;
  const vault = createVault(configuration);
  const wires = new Map(
    [...identityProviders.values()].map((one) => [one.id, createWire(configuration, one)]),
  );
  const wireOf = (identityProvider: IdentityProvider): Wire =>
    wires.get(identityProvider.id) ?? createWire(configuration, identityProvider);
  const users = createUsers(configuration);
  // Bonds outlive the configuration that made them: without any there is nothing to watch over.
  const isUsed = identityProviders.size > 0 || (await store.hasProviderTokens());
  if (isUsed) await vault.open();
  const bonds = isUsed ? createBonds(configuration, vault, wireOf) : unbonded;
  const farewells = isUsed ? createFarewells(configuration, vault, wireOf) : null;
  if (farewells !== null) endings.tell(farewells.nudge);

  async function makeBond(
    accountId: string,
    { identityProvider, user, given }: Arrival,
  ): Promise<ProviderTokensRecord> {
    const grantId = await nameGrant();
    const { envelope, dataKeyId } = await vault.seal(given.tokens, placeOf(grantId));
    const now = clock();
    return {
      grantId,
      accountId,
      identityProvider: identityProvider.id,
      issuer: user.issuer,
      subject: user.subject,
      name: user.name,
      encryptedTokens: envelope,
      dataKeyId,
      scopes: given.scopes,
      ...timesOf(given, now),
      checkedAt: now,
      version: 1,
      leaseHolder: null,
      leaseUntil: null,
      createdAt: now,
      endedAt: null,
      endReason: null,
      dueAt: now + lifetimes.transaction + lifetimes.code + ORPHANED_AFTER,
      revocationAttempts: 0,
    };
  }

  async function discard(accountId: string | null, arrival: Arrival): Promise<void> {
    const bond = await makeBond(accountId ?? NOBODY, arrival);
    const now = clock();
    await store.saveEndedProviderTokens({ ...bond, endedAt: now, endReason: 'grant_expired', dueAt: now });
    events({
      type: 'provider_token.discarded',
      identityProvider: bond.identityProvider,
      ...(accountId !== null && { accountId }),
    });
  }

  return {
    bonds,
    departures: createDepartures(configuration, vault, wireOf),
    users,
    wayOf: createWayOf(configuration, users),
    wireOf,
    async holds(grantId, { id }, accountId) {
      const bond = grantId === null ? null : await store.findProviderTokens(grantId);
      return (
        bond !== null && bond.endedAt === null && bond.identityProvider === id && bond.accountId === accountId
      );
    },
    async bind(transactionId, accountId, arrival) {
      const bond = await makeBond(accountId, arrival);
      const about = {
        identityProvider: bond.identityProvider,
        accountId,
        grantId: bond.grantId,
        transactionId,
      };
      // Point of no return: the bond stands, and its grant will.
      if (!(await store.saveProviderTokens(transactionId, bond))) {
        await discard(accountId, arrival);
        return null;
      }
      events({ type: 'provider_token.stored', ...about });
      return bond.grantId;
    },
    discard,
    async close() {
      await farewells?.close();
      await bonds.settled();
    },
  };
}

/** No grant rests on anything but this server. */
const unbonded: Bonds = {
  inUse: false,
  settled: async () => {},
  isAlive: async () => true,
  boundsOf: async (_grantId, scopes) => ({ until: Number.MAX_SAFE_INTEGER, scopes }),
  tokenFor: async () => {
    throw noIdentityProvider('the grant rests on none');
  },
};
