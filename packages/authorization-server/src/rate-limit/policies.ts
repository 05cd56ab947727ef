/**
 * Rate limits on one page: what is limited, by which key, how much, and why.
 *
 * What succeeds is limited by what it is for (a grant, a client, an account), never by site: a hosted platform sends the traffic
 * of all its users from a few addresses. A site is limited only in what it can make this server store or fetch. Failures (brute
 * force) are limited by client or account *and* site (of a sign-in: network), so that attackers elsewhere cannot lock the owner
 * out, and by site alone against those who try many names. Codes and refresh tokens are not limited: 256 bits are not guessed.
 * An exceeded limit is 429 with `Retry-After`, in pages as in JSON. See docs/decisions/0042-rate-limits.md.
 */
import type { ConnectionInfo } from '@portcullis/http';
import { networkPrefixOf, sitePrefixOf } from '@portcullis/protocol';

/** A token bucket: so many at once, and so many a minute after. */
export interface RateLimit {
  readonly burst: number;
  readonly perMinute: number;
}

/** Pauses after failures in a row. Seconds. */
export interface Lockout {
  /** Failures without a pause, for typing errors. */
  readonly free: number;
  readonly firstPause: number;
  /** Each pause is twice as long as the one before, up to this. */
  readonly maxPause: number;
  readonly forgetAfter: number;
}

const limit = (burst: number, perMinute: number): RateLimit => ({ burst, perMinute });

/** Limits that an operator may change, each over all processes. Generous: no honest client or user reaches one of these. */
const operatorLimits = {
  /** Refreshes, by grant. */
  refreshes: limit(300, 60),
  /** Access tokens by client credentials, by client. */
  clientTokens: limit(600, 600),
  /** Token exchanges, by grant; for ID-JAGs, by client and account. */
  exchanges: limit(300, 60),
  /**
   * Failed client authentications, by client and site. A client that authenticates is only subject to it if its
   * pre-registered secret is short enough to be guessed.
   */
  clientFailures: limit(10, 6),
  /** Failed client authentications, by site. A client that authenticates is not subject to it. */
  networkFailures: limit(100, 60),
  /** Client registrations, by site: each stores a row. */
  registrations: limit(300, 30),
  /**
   * Authorization requests, by account, or by site before sign-in, as well as assertions of clients that no user has connected yet:
   * each stores a row.
   */
  authorizations: limit(600, 300),
  /** Redirects to an identity provider, by account or authorization request: it counts them as this server's. */
  federatedLogins: limit(60, 30),
  /** Sign-ins, right or wrong, by account and network, or by account with a device cookie. */
  signIns: limit(20, 2),
  /** SCIM requests and operations of bulk requests, by provisioning connection: a full synchronization of 100,000 users takes 17 minutes. */
  scim: limit(1000, 6000),
};

/** Rate limits that an operator may change. One that is left out keeps its default. */
export interface RateLimitOptions extends Readonly<Partial<typeof operatorLimits>> {}
export type RateLimitPolicies = Readonly<Required<RateLimitOptions>>;
export const defaultRateLimits: RateLimitPolicies = operatorLimits;
/** Rate limits that no option changes. */
export const fixedRateLimits: Readonly<
  Record<
    'registrationUpdates' | 'untrustedEvents' | 'deviceCodes' | 'linkRequests' | 'linkRequestsOfSite',
    RateLimit
  >
> = {
  /** User codes entered, right or wrong, by site: 34 bits must not be guessed. */
  deviceCodes: { burst: 20, perMinute: 10 },
  /** Mails with a reset or sign-in link, by address, of an account or not: a mailbox must not be flooded, nor an account be noticed. */
  linkRequests: { burst: 5, perMinute: 5 / 60 },
  /** The same by site, for many addresses. */
  linkRequestsOfSite: { burst: 30, perMinute: 5 },
  /** Changes of one registration (RFC 7592): each is written and audited, and hardly any client makes one. */
  registrationUpdates: { burst: 20, perMinute: 6 },
  /** Audit events that unauthenticated requests can cause, by event type; of the rest only the count is stored. */
  untrustedEvents: { burst: 1000, perMinute: 120 },
};

/**
 * Failed sign-ins (passwords, and codes apart), in each process and over all of them. All processes together allow more than
 * one alone, so that an attacker who uses all of them does not lock users out sooner.
 */
export const loginFailures: {
  readonly pair: Lockout;
  readonly account: { readonly process: Lockout; readonly shared: RateLimit };
  readonly site: { readonly process: RateLimit; readonly shared: RateLimit };
  readonly device: RateLimit;
} = {
  /** By account and network: always. */
  pair: { free: 5, firstPause: 15, maxPause: 900, forgetAfter: 3600 },
  /** By account, unless this account signed in before from this network or with this device. */
  account: {
    process: { free: 30, firstPause: 15, maxPause: 900, forgetAfter: 3600 },
    shared: { burst: 100, perMinute: 4 },
  },
  /** By site, likewise. A rate and no pauses: a whole university may share one address. */
  site: { process: { burst: 100, perMinute: 30 }, shared: { burst: 300, perMinute: 60 } },
  /** By device cookie, instead of all others: a thief of the cookie gets five guesses, and one more a day. */
  device: { burst: 5, perMinute: 60 / 86_400 },
};

/**
 * Documents and keys fetched because a client names their URL: separate limits for documents and keys, in each process. New ones
 * by origin: few clients of one host are new in a minute. Renewals of known ones by URL, from a reserve of their own: requests
 * that name new URLs must not prevent this server from noticing that a known document was withdrawn. In all: what unauthenticated
 * requests can make this server send is small (SSRF, reflection).
 */
export const outboundFetches: Readonly<
  Record<'new' | 'renewal', Readonly<Record<'target' | 'total', RateLimit>>>
> = {
  new: { target: { burst: 20, perMinute: 20 }, total: { burst: 120, perMinute: 120 } },
  renewal: { target: { burst: 20, perMinute: 20 }, total: { burst: 120, perMinute: 120 } },
};

/** Seconds before the next request to a host whose budget for renewals is exhausted. */
export const RENEWAL_PAUSE = 60;

/**
 * Quotas that unauthenticated requests share (outbound fetches, unused registrations): one site may use this share of what is left, so
 * that no site exhausts a quota, and its share decreases as others use more.
 * @see Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998
 */
export const MAX_SHARE_OF_REST = 0.25;

/**
 * Authorization requests of users who are not signed in that are stored at a time, in all. The rate limit of a site allows a
 * fifth of them within the lifetime of a request.
 */
export const MAX_OPEN_TRANSACTIONS = 20_000;

/** Maximum octets of client identifier, redirect URI and state that one authorization request stores. Ordinary requests have a tenth. */
export const MAX_TRANSACTION_OCTETS = 5120;

/** Password hashes (60 ms and 46 MiB each) that run at once, and that wait in each of the two queues. */
export const passwordHashing = { running: 2, waiting: 32 } as const;

/** Characters of a client secret that cannot be guessed: 128 bits in base64url. */
export const MIN_UNGUESSABLE_SECRET = 22;

/** The network of a connection as a key: an IPv4 address or an IPv6 /64, where a user may be known; `null` when its address is unknown. */
export function networkOf({ address }: ConnectionInfo): string | null {
  return address === undefined ? null : networkPrefixOf(address);
}

/** The site of a connection as a key for limits: an IPv4 address or an IPv6 /48, since one subscriber often has 65,536 networks. */
export function siteOf({ address }: ConnectionInfo): string | null {
  return address === undefined ? null : sitePrefixOf(address);
}
