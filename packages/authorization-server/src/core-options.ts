/** Options that every slice may read: issuer, name, revisions, lifetimes, master keys and rate limits. */
import { profiles as allProfiles, findProfile, issuerError, type Profile } from '@portcullis/protocol';
import * as z from 'zod';
import type { EncryptionOptions } from './encryption/options.ts';
import {
  callback,
  checkedText,
  lazy,
  list,
  type OutputOf,
  option,
  optionMeta,
  type ParsedOf,
  seconds,
  text,
} from './option-schema/fields.ts';
import { readDefaults } from './option-schema/reader.ts';
import type { LimitContext } from './rate-limit/limiter.ts';

const lifetime = (usual: number) => seconds(1).default(usual);

export const lifetimesSchema = lazy(() =>
  z.strictObject({
    /** @see RFC 6749 §5.1, `expires_in` */
    accessToken: lifetime(600).describe('access token'),
    /** @see RFC 6749 §4.1.2 */
    code: lifetime(60).describe('authorization code'),
    transaction: lifetime(600).describe('authorization transaction, from the request to the code'),
    session: lifetime(14 * 86_400).describe('browser session'),
    refreshIdle: lifetime(30 * 86_400).describe('refresh token that is not used'),
    grant: lifetime(365 * 86_400).describe('grant, however often its tokens are refreshed'),
    personalAccessToken: lifetime(90 * 86_400).describe(
      'longest that users can choose for a personal access token',
    ),
    /** `null`, so that a lost response never ends a session. A number: so long after the rotation. */
    refreshGrace: seconds(0, undefined, ', or null')
      .nullable()
      .default(null)
      .describe(
        'how long a rotated refresh token returns the same successor again; `null`: until that successor is used; `0`: never',
      ),
    unusedClient: lifetime(86_400).describe('registered client that never obtained a token'),
    usedClient: lifetime(90 * 86_400).describe(
      'registered client since its last token, unless it holds a live grant',
    ),
  }),
);

/** Lifetimes of tokens, grants, sessions and registrations, in seconds. */
export type Lifetimes = OutputOf<typeof lifetimesSchema>;

/** Lifetimes that apply unless the options replace them, in seconds. */
const defaultLifetimes: Lifetimes = readDefaults(lifetimesSchema());

export const coreOptions = {
  /** The issuer identifier, used byte for byte. @see RFC 8414 §2 */
  issuer: option(() => checkedText('an https URL', issuerError), { isRequired: true }),
  /** The server's name on its pages; the issuer's host by default. */
  name: option(() => text(), {
    section: 'Pages',
    placeholder: 'text',
    description: 'display name of this authorization server',
    defaultText: 'the host of the public URL',
  }),
  /** Revisions to serve: profiles, or their dates. */
  profiles: option(profilesSchema, {
    default: allProfiles,
    section: 'Protocol',
    description: 'supported revisions of MCP authorization, by date',
    defaultText: 'all',
  }),
  /** `false`: no metadata documents, default paths only, as a Profile A server may be. */
  metadata: option(() => z.boolean(), {
    default: true,
    section: 'Protocol',
    description:
      'whether metadata documents are published; `false` makes a Profile A server with default paths',
  }),
  /** Epoch seconds. */
  clock: option(() => callback<() => number>(), {}),
};

export const lifetimeOptions = {
  /** Lifetimes in seconds; `defaultLifetimes` for those left out. */
  lifetimes: option(lifetimesSchema, {
    default: defaultLifetimes,
    section: 'Tokens',
    description: 'lifetimes in seconds',
    defaultText: 'as below',
  }),
};

/** The core options, with their defaults. */
export interface CoreOptions
  extends Omit<ParsedOf<typeof coreOptions & typeof lifetimeOptions>, 'name' | 'clock'>,
    EncryptionOptions,
    ReadonlyLimits {
  readonly name: string;
  /** `false` with a store without users: only clients that act for themselves get tokens. */
  readonly servesUsers: boolean;
}

type ReadonlyLimits = LimitContext['options'];

/** Revisions by date, or (in code) the profiles themselves. */
function profilesSchema() {
  const revisions = allProfiles.map(({ revision }) => revision);
  const byDate = z.enum(revisions as [string]).transform((revision) => findProfile(revision) as Profile);
  const itself = z
    .custom<Profile>((value) => allProfiles.some((known) => known === value))
    .register(optionMeta, { kind: 'a profile' });
  const either = z.union([byDate, itself]).register(optionMeta, { kind: `one of ${revisions.join(', ')}` });
  return list(either, 1);
}
