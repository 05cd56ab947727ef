/** The four protocol revisions as values, compared with what each of them states. */

import {
  combineProfiles,
  findProfile,
  type Profile,
  profileA,
  profileB,
  profileC,
  profileD,
  profiles,
  readProtocolVersion,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** The facts of a later profile that the earlier one does not have. */
function changes(earlier: Profile, later: Profile): Partial<Profile> {
  const facts = Object.entries(later).filter(([name, fact]) => fact !== Reflect.get(earlier, name));
  return Object.fromEntries(facts);
}

type ServerPolicy = ReturnType<typeof combineProfiles>;

describe('profiles', () => {
  it('[ALL-VER-1 ALL-VER-3] Profile A states each of its facts', () => {
    expect(profileA).toEqual({
      revision: '2025-03-26',
      // seed 4.2(1): the protected server's URL with its path removed
      discovery: 'server-origin',
      // seed 1(6): RFC 8414 only
      serverMetadata: ['oauth'],
      // seed 1(6): servers without metadata MUST follow the default endpoint paths
      endpointFallback: 'default-paths',
      metadataIssuer: 'unchecked',
      // seed 4.3 step 3 and 4.4
      registration: ['preregistered', 'dynamic', 'ask-user'],
      // seed 9(1): no resource parameter
      resourceIndicator: 'omit',
      // seed 5.3(1): PKCE is required, its support taken for granted
      pkceSupport: 'assume',
      responseIssuer: 'ignore',
      scopeFrom: [],
      stepUp: 'none',
    });
  });

  const steps: readonly { description: string; given: [Profile, Profile]; expect: Partial<Profile> }[] = [
    {
      description:
        '[ALL-VER-1 ALL-VER-3] Profile B adds resource metadata, no default paths, resource indicators',
      given: [profileA, profileB],
      expect: {
        revision: '2025-06-18',
        discovery: 'resource-metadata',
        endpointFallback: 'none',
        metadataIssuer: 'exact',
        resourceIndicator: 'send',
      },
    },
    {
      description:
        'C: OpenID Connect Discovery, metadata documents of clients, PKCE advertised, scopes and step-up by challenge',
      given: [profileB, profileC],
      expect: {
        revision: '2025-11-25',
        serverMetadata: ['oauth', 'oidc'],
        registration: ['preregistered', 'metadata-document', 'dynamic', 'ask-user'],
        pkceSupport: 'advertised',
        scopeFrom: ['challenge', 'resource-metadata'],
        stepUp: 'challenge',
      },
    },
    {
      description: 'Profile D adds RFC 9207 and scopes that accumulate',
      given: [profileC, profileD],
      expect: { revision: '2026-07-28', responseIssuer: 'rfc9207', stepUp: 'union' },
    },
  ];
  it.each(steps)('$description, and nothing else', ({ given: [earlier, later], expect: expected }) => {
    expect(changes(earlier, later)).toEqual(expected);
  });

  it('the profiles are listed oldest first, each once', () => {
    expect(profiles).toEqual([profileA, profileB, profileC, profileD]);
    const revisions = profiles.map(({ revision }) => revision);
    expect(revisions).toEqual([...new Set(revisions)].sort());
  });

  it('the profiles and their lists are frozen', () => {
    const parts = [profiles, ...profiles, ...profiles.flatMap((profile) => Object.values(profile))];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
  });
});

describe('profileOf', () => {
  it.each([
    { given: '2025-03-26', expect: profileA },
    { given: '2025-06-18', expect: profileB },
    { given: '2025-11-25', expect: profileC },
    { given: '2026-07-28', expect: profileD },
    { given: '2024-11-05', expect: undefined },
    { given: '2025-06-18 ', expect: undefined },
    { given: '', expect: undefined },
    { given: '__proto__', expect: undefined },
  ])(
    'profileOf returns the profile of the revision $given, if there is one',
    ({ given, expect: expected }) => {
      expect(findProfile(given)).toBe(expected);
    },
  );
});

describe('foldProfiles', () => {
  const cases: readonly { description: string; given: readonly Profile[]; expect: ServerPolicy }[] = [
    {
      description: 'Profile A alone',
      given: [profileA],
      expect: {
        resourceMetadata: false,
        serverMetadata: ['oauth'],
        responseIssuer: false,
        challengeScopes: false,
      },
    },
    {
      description: 'Profile B alone',
      given: [profileB],
      expect: {
        resourceMetadata: true,
        serverMetadata: ['oauth'],
        responseIssuer: false,
        challengeScopes: false,
      },
    },
    {
      description: 'Profile C alone',
      given: [profileC],
      expect: {
        resourceMetadata: true,
        serverMetadata: ['oauth', 'oidc'],
        responseIssuer: false,
        challengeScopes: true,
      },
    },
    {
      description: 'Profiles A and D',
      given: [profileA, profileD],
      expect: {
        resourceMetadata: true,
        serverMetadata: ['oauth', 'oidc'],
        responseIssuer: true,
        challengeScopes: true,
      },
    },
    {
      description: 'all profiles',
      given: profiles,
      expect: {
        resourceMetadata: true,
        serverMetadata: ['oauth', 'oidc'],
        responseIssuer: true,
        challengeScopes: true,
      },
    },
    {
      description: 'no profiles',
      given: [],
      expect: { resourceMetadata: false, serverMetadata: [], responseIssuer: false, challengeScopes: false },
    },
  ];
  it.each(cases)(
    '[ALL-VER-1] foldProfiles combines $description into one server policy',
    ({ given, expect: expected }) => {
      expect(combineProfiles(given)).toEqual(expected);
    },
  );

  it('foldProfiles serves what any profile asks for, in whatever order they are given', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...profiles]), fc.shuffledSubarray([...profiles]), (some, more) => {
        const flags = ({ serverMetadata, ...policy }: ServerPolicy) => [new Set(serverMetadata), policy];
        expect(flags(combineProfiles([...some, ...more]))).toEqual(
          flags(combineProfiles([...more, ...some, ...some])),
        );
        const narrow = combineProfiles(some);
        const wide = combineProfiles([...some, ...more]);
        expect(!narrow.resourceMetadata || wide.resourceMetadata).toBe(true);
        expect(!narrow.responseIssuer || wide.responseIssuer).toBe(true);
        expect(!narrow.challengeScopes || wide.challengeScopes).toBe(true);
        expect(narrow.serverMetadata.every((kind) => wide.serverMetadata.includes(kind))).toBe(true);
      }),
    );
  });
});

describe('readProtocolVersion', () => {
  const cases: readonly { description: string; given: [string, string][]; expect: string | null }[] = [
    {
      description: 'the header in the spelling of the seed',
      given: [['Ctx-Protocol-Version', '2025-03-26']],
      expect: '2025-03-26',
    },
    {
      description: 'the header in the deployed spelling',
      given: [['MCP-Protocol-Version', '2025-06-18']],
      expect: '2025-06-18',
    },
    {
      description: 'the header name in any case',
      given: [['mcp-protocol-version', '2025-06-18']],
      expect: '2025-06-18',
    },
    {
      description: 'an unknown revision',
      given: [['MCP-Protocol-Version', '2031-01-01']],
      expect: '2031-01-01',
    },
    {
      description: 'the deployed header when both are sent',
      given: [
        ['Ctx-Protocol-Version', '2025-03-26'],
        ['MCP-Protocol-Version', '2025-06-18'],
      ],
      expect: '2025-06-18',
    },
    {
      description: 'the header that is a date when both are sent',
      given: [
        ['Ctx-Protocol-Version', '2025-03-26'],
        ['MCP-Protocol-Version', 'x'],
      ],
      expect: '2025-03-26',
    },
    { description: 'no header as null', given: [], expect: null },
    { description: 'an empty header as null', given: [['MCP-Protocol-Version', '']], expect: null },
    {
      description: 'a header that is no date as null',
      given: [['MCP-Protocol-Version', 'latest']],
      expect: null,
    },
    {
      description: 'a repeated header as null',
      given: [
        ['MCP-Protocol-Version', '2025-06-18'],
        ['MCP-Protocol-Version', '2025-03-26'],
      ],
      expect: null,
    },
    {
      description: 'a date with trailing text as null',
      given: [['MCP-Protocol-Version', '2025-06-18; x']],
      expect: null,
    },
  ];
  it.each(cases)('[ALL-VER-4] readProtocolVersion reads $description', ({ given, expect: expected }) => {
    expect(readProtocolVersion(new Headers(given))).toBe(expected);
  });
});
