/** Client metadata: what a registration returns, and why it is rejected. */
import type { RegistrationPolicy } from '@portcullis/protocol';
import { openRegistrationPolicy, readClientMetadata } from '@portcullis/protocol/documents';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../tests/support/any-text.ts';
import { answerOf, refusalOf } from './refusal.ts';
import { anyText } from './texts.ts';

const callback = 'https://c.example/cb';
const sound = { redirect_uris: [callback], token_endpoint_auth_method: 'none' };

const operator: RegistrationPolicy = {
  grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
  authenticationMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  redirects: { privateUseSchemes: ['cursor'] },
};

const publicKey = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};

const read = (json: unknown, policy = openRegistrationPolicy) =>
  answerOf(() => readClientMetadata(json, policy));

describe('readClientMetadata completes', () => {
  it('[AS-DCR-63] readClientMetadata completes a minimal body with the defaults of RFC 7591', () => {
    expect(read({ redirect_uris: [callback] })).toEqual({
      redirect_uris: [callback],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      application_type: 'web',
    });
  });

  it.each([
    {
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB' }, publicKey] },
    },
    {
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://c.example/keys',
    },
    { require_signed_request_object: true, jwks: { keys: [publicKey] } },
    { require_signed_request_object: false },
  ])('readClientMetadata accepts a client with keys for what it signs: %j', (given) => {
    expect(read({ ...sound, ...given }, operator)).toMatchObject(given);
  });

  const cases: readonly { description: string; given: Readonly<Record<string, unknown>>; expect: object }[] =
    [
      {
        description: 'readClientMetadata keeps the members that describe the client',
        given: {
          client_name: 'Notes CLI',
          client_uri: 'https://c.example',
          logo_uri: 'https://c.example/l.png',
          tos_uri: 'https://c.example/t',
          policy_uri: 'https://c.example/p',
          contacts: ['a@c.example'],
          software_id: 's',
          software_version: '1',
        },
        expect: {
          client_name: 'Notes CLI',
          logo_uri: 'https://c.example/l.png',
          contacts: ['a@c.example'],
          software_version: '1',
        },
      },
      {
        description: 'readClientMetadata keeps names in any script',
        given: { client_name: 'Łódź notes 笔记 👩‍💻 مذكرات' },
        expect: { client_name: 'Łódź notes 笔记 👩‍💻 مذكرات' },
      },
      {
        description: 'readClientMetadata infers a native client when every redirect URI is loopback',
        given: { redirect_uris: ['http://localhost:3000/cb', 'http://127.0.0.1/cb'] },
        expect: { application_type: 'native' },
      },
      {
        description: 'readClientMetadata infers a web client when one redirect URI is not loopback',
        given: { redirect_uris: ['http://localhost:3000/cb', 'HTTPS://c.example/cb'] },
        expect: { application_type: 'web' },
      },
      {
        description: 'readClientMetadata keeps the application type that the client states',
        given: { application_type: 'native' },
        expect: { application_type: 'native' },
      },
      {
        description: 'readClientMetadata keeps both grant types',
        given: { grant_types: ['authorization_code', 'refresh_token'] },
        expect: { grant_types: ['authorization_code', 'refresh_token'] },
      },
      {
        description: 'readClientMetadata keeps only the offered grant types',
        given: { grant_types: ['implicit', 'authorization_code', 'authorization_code'] },
        expect: { grant_types: ['authorization_code'] },
      },
      {
        description: 'readClientMetadata keeps only the offered response type',
        given: { response_types: ['token', 'code'] },
        expect: { response_types: ['code'] },
      },
      {
        description: 'readClientMetadata keeps each redirect URI once',
        given: { redirect_uris: [callback, callback] },
        expect: { redirect_uris: [callback] },
      },
      {
        description: 'readClientMetadata keeps good redirect URIs beside a scheme that is not allowed',
        given: { redirect_uris: ['cursor://host/cb', 'http://localhost:3000/cb'] },
        expect: { redirect_uris: ['http://localhost:3000/cb'] },
      },
      {
        description: 'readClientMetadata keeps scopes, each once',
        given: { scope: ' a  b a' },
        expect: { scope: 'a b' },
      },
      {
        description: 'readClientMetadata ignores members that are null',
        given: { client_name: null, jwks: null, scope: null },
        expect: sound,
      },
      {
        description: 'readClientMetadata ignores empty members, as official SDKs send them',
        given: { client_uri: '', logo_uri: '', tos_uri: '', client_name: '', scope: '' },
        expect: sound,
      },
      {
        description: '[AS-DCR-66] readClientMetadata ignores unknown and language-tagged members',
        given: { 'client_name#de': 'Notizen', 'logo_uri#ja': 'https://c.example/ja.png', x_foo: { a: 1 } },
        expect: sound,
      },
      {
        description: 'readClientMetadata keeps public keys',
        given: { jwks: { keys: [publicKey] } },
        expect: { jwks: { keys: [publicKey] } },
      },
      {
        description: 'readClientMetadata keeps the jwks_uri of public keys',
        given: { jwks_uri: 'https://c.example/jwks' },
        expect: { jwks_uri: 'https://c.example/jwks' },
      },
    ];
  it.each(cases)('$description', ({ given, expect: expected }) => {
    expect(read({ ...sound, ...given })).toMatchObject(expected);
  });

  it('readClientMetadata drops unknown, empty and null members', () => {
    const given = { ...sound, 'client_name#de': 'x', scope: ' ', client_uri: '', tos_uri: null, x: 1 };
    expect(Object.keys(read(given)).sort()).toEqual([
      'application_type',
      'grant_types',
      'redirect_uris',
      'response_types',
      'token_endpoint_auth_method',
    ]);
  });

  it('readClientMetadata lets an operator register client credentials without redirect URIs', () => {
    expect(
      read(
        { grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_post' },
        operator,
      ),
    ).toEqual({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
      application_type: 'web',
    });
  });

  it('readClientMetadata accepts a confidential client without grant types and redirect URIs', () => {
    const given = { grant_types: [], token_endpoint_auth_method: 'client_secret_basic' };
    expect(read(given)).toMatchObject({ ...given, redirect_uris: [], response_types: [] });
  });

  it('readClientMetadata accepts private-use schemes and internal hosts where the operator allows them', () => {
    const given = { ...sound, redirect_uris: ['cursor://host/cb'], jwks_uri: 'http://localhost:1/jwks' };
    expect(read(given, { ...operator, allowPrivateHosts: true })).toMatchObject({
      redirect_uris: ['cursor://host/cb'],
      application_type: 'native',
    });
    expect(read(given, operator)).toBe('invalid_client_metadata');
  });
});

describe('redirect_uris', () => {
  const scripts = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:https://c.example/1',
    'file:///x',
    'view-source:https://c.example',
  ];
  it.each(scripts)(
    '[AS-REDIR-5 AS-DCR-64] T037 the redirect URI %j condemns the whole registration',
    (given) => {
      expect(
        refusalOf(() =>
          readClientMetadata({ ...sound, redirect_uris: [callback, given] }, openRegistrationPolicy),
        ),
      ).toMatchObject({
        code: 'invalid_redirect_uri',
        status: 400,
        description: expect.stringMatching(/^redirect_uris\.1: /),
      });
    },
  );

  const cases: readonly { description: string; given: unknown }[] = [
    { description: 'missing', given: undefined },
    { description: 'null', given: null },
    { description: 'empty', given: [] },
    { description: 'text', given: callback },
    { description: 'an object', given: { 0: callback } },
    { description: '[null]', given: [null] },
    { description: 'numbers', given: [1] },
    { description: 'a sparse array', given: Object.assign(new Array(3), { 2: callback }) },
    { description: '1,000 entries', given: Array.from({ length: 1000 }, (_, n) => `${callback}${n}`) },
    { description: 'an entry of 100 KB', given: [`${callback}/${'a'.repeat(100_000)}`] },
    { description: 'an empty entry', given: [''] },
    { description: 'a fragment', given: ['https://c.example/#f'] },
    { description: 'user info', given: ['https://u@c.example/'] },
    { description: 'a wildcard', given: ['https://*.c.example'] },
    { description: 'plain http', given: ['http://c.example'] },
    { description: 'a relative one', given: ['/cb'] },
    { description: 'only a scheme that is not allowed', given: ['myapp://cb'] },
    { description: 'one bad among good ones', given: [callback, 'http://evil.example/cb'] },
  ];
  it.each(cases)(
    '[AS-DCR-64 AS-REDIR-20] T038 rejects redirect_uris that are or contain $description with invalid_redirect_uri',
    ({ given }) => {
      expect(read({ ...sound, redirect_uris: given })).toBe('invalid_redirect_uri');
    },
  );

  it('[AS-REDIR-24] rejects a refused redirect URI scheme by its position without repeating it', () => {
    const refusal = refusalOf(() =>
      readClientMetadata({ ...sound, redirect_uris: ['x-evil-app://cb'] }, openRegistrationPolicy),
    );
    expect(refusal.description).toBe(
      'redirect_uris.0: uses a private-use scheme that this server does not allow: its operator can, with the setting privateUseSchemes',
    );
  });
});

it('readClientMetadata drops redirect URIs and response types of a client for devices only', () => {
  const grantTypes = ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'];
  const given = {
    grant_types: grantTypes,
    redirect_uris: ['http://127.0.0.1/callback'],
    response_types: ['code'],
  };
  expect(readClientMetadata(given, { ...openRegistrationPolicy, grantTypes })).toMatchObject({
    redirect_uris: [],
    response_types: [],
  });
  const dangerous = { ...given, redirect_uris: ['javascript:alert(1)'] };
  expect(refusalOf(() => readClientMetadata(dangerous, { ...openRegistrationPolicy, grantTypes })).code).toBe(
    'invalid_redirect_uri',
  );
});

describe('invalid_client_metadata', () => {
  const cases: readonly {
    description: string;
    given: Readonly<Record<string, unknown>>;
    policy?: RegistrationPolicy;
  }[] = [
    ...['client_uri', 'logo_uri', 'tos_uri', 'policy_uri', 'logo_uri#ja', 'client_uri#de-CH'].flatMap(
      (name) =>
        ['javascript:alert(1)', 'data:text/html,x', 'ftp://c.example', 'https://u@c.example', 5].map(
          (value) => ({
            description: `T039 readClientMetadata rejects ${name} = ${value}`,
            given: { [name]: value },
          }),
        ),
    ),
    ...[
      'http://169.254.169.254/',
      'https://169.254.169.254/',
      'https://10.0.0.1/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://localhost/',
      'http://localhost/',
      'https://metadata.google.internal/',
      'https://intranet/',
      'https://2130706433/',
      'file:///x',
      'https://c.example/#x y',
    ].map((value) => ({
      description: `T039 readClientMetadata rejects jwks_uri = ${value}`,
      given: { jwks_uri: value },
    })),
    {
      description: '[AS-DCR-65] T041 readClientMetadata rejects jwks and jwks_uri',
      given: { jwks: { keys: [publicKey] }, jwks_uri: 'https://c.example/jwks' },
    },
    {
      description: 'T041 readClientMetadata rejects a private key',
      given: { jwks: { keys: [{ ...publicKey, d: 'x' }] } },
    },
    {
      description: 'T041 readClientMetadata rejects a private key beside a public one',
      given: { jwks: { keys: [publicKey, { kty: 'RSA', n: 'x', e: 'AQAB', p: 'x' }] } },
    },
    {
      description: 'T041 readClientMetadata rejects a symmetric key',
      given: { jwks: { keys: [{ kty: 'oct', k: 'x' }] } },
    },
    {
      description: 'T041 readClientMetadata rejects a symmetric key in disguise',
      given: { jwks: { keys: [{ kty: 'RSA', k: 'x' }] } },
    },
    {
      description: 'T041 readClientMetadata rejects a key without type',
      given: { jwks: { keys: [{ n: 'x' }] } },
    },
    {
      description: 'T041 readClientMetadata rejects a key of an empty type',
      given: { jwks: { keys: [{ kty: '', n: 'x' }] } },
    },
    { description: 'T041 readClientMetadata rejects an empty list of keys', given: { jwks: { keys: [] } } },
    { description: 'T041 readClientMetadata rejects keys that are no list', given: { jwks: { keys: 'x' } } },
    { description: 'T041 readClientMetadata rejects keys as a list', given: { jwks: [publicKey] } },
    {
      description: 'T041 readClientMetadata rejects private_key_jwt without keys',
      given: { token_endpoint_auth_method: 'private_key_jwt' },
      policy: operator,
    },
    {
      description: 'readClientMetadata rejects private_key_jwt without a key for its algorithm',
      given: {
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'RS256',
        jwks: { keys: [publicKey] },
      },
      policy: operator,
    },
    {
      description: 'readClientMetadata rejects required request objects without keys',
      given: { require_signed_request_object: true },
    },
    {
      description: 'readClientMetadata rejects required request objects without a key for their algorithm',
      given: {
        require_signed_request_object: true,
        request_object_signing_alg: 'ES384',
        jwks: { keys: [publicKey] },
      },
    },
    {
      description: '[AS-DCR-65] T041 readClientMetadata rejects an authentication method that is not offered',
      given: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } },
    },
    {
      description: '[AS-DCR-65] T041 readClientMetadata rejects an unknown authentication method',
      given: { token_endpoint_auth_method: 'tls_client_auth' },
    },
    {
      description: '[AS-DCR-65] T041 readClientMetadata rejects response types that fit no grant',
      given: { response_types: ['token'] },
    },
    {
      description: '[AS-DCR-65] T041 readClientMetadata rejects a code grant without a response type',
      given: { response_types: [] },
    },
    {
      description: '[AS-DCR-65] T041 readClientMetadata rejects a response type without its grant',
      given: {
        grant_types: ['client_credentials'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
      policy: operator,
    },
    {
      description: 'T041 readClientMetadata rejects client credentials for a public client',
      given: { grant_types: ['client_credentials'] },
      policy: operator,
    },
    {
      description: 'T040 readClientMetadata rejects machine grants by open registration',
      given: { grant_types: ['client_credentials', 'password'] },
    },
    {
      description: 'T040 readClientMetadata rejects the refresh grant alone',
      given: { grant_types: ['refresh_token'] },
    },
    {
      description: 'readClientMetadata rejects a public client without grant types',
      given: { grant_types: [], response_types: [], token_endpoint_auth_method: 'none' },
    },
    {
      description: '[AS-DCR-65] readClientMetadata rejects text in place of a list',
      given: { grant_types: 'authorization_code' },
    },
    {
      description: '[AS-DCR-65] readClientMetadata rejects a number in place of a name',
      given: { client_name: 5 },
    },
    {
      description: 'readClientMetadata rejects a name of 100 KB',
      given: { client_name: 'x'.repeat(100_000) },
    },
    {
      description: 'T073 readClientMetadata rejects a client name that changes the text direction',
      given: { client_name: 'Notes\u202etxt.exe' },
    },
    {
      description: 'readClientMetadata rejects a client name with terminal control sequences',
      given: { client_name: 'Notes\u001b[31m' },
    },
    {
      description: 'readClientMetadata rejects a name of two lines',
      given: { client_name: 'Notes\nhttps://trusted.example' },
    },
    {
      description: 'readClientMetadata rejects a client name with a lone surrogate',
      given: { client_name: 'Notes\ud800' },
    },
    {
      description: 'readClientMetadata rejects an unknown application type',
      given: { application_type: 'spa' },
    },
    { description: 'T013 readClientMetadata rejects a malformed scope', given: { scope: 'a"b' } },
    {
      description: 'T013 readClientMetadata rejects ten thousand scopes',
      given: { scope: Array.from({ length: 10_000 }, (_, n) => n).join(' ') },
    },
    {
      description: 'readClientMetadata rejects a malformed redirect URI and more',
      given: { redirect_uris: [5], client_name: 5 },
    },
  ];
  it.each(cases)('$description', ({ given, policy }) => {
    const refusal = refusalOf(() =>
      readClientMetadata({ ...sound, ...given }, policy ?? openRegistrationPolicy),
    );
    expect([refusal.code, refusal.status]).toEqual(['invalid_client_metadata', 400]);
    expect(refusal.description).not.toMatch(/alert|evil|tls_client|169\.254|[^ -~]/);
    expect(read(sound)).toMatchObject(sound);
  });

  it.each([null, [], 'x', 5, undefined, [sound]])(
    'readClientMetadata rejects a body that is not an object: %j',
    (given) => {
      expect(read(given)).toBe('invalid_client_metadata');
    },
  );
});

describe('privileges', () => {
  it('T040 readClientMetadata keeps no member that belongs to the server', () => {
    const hostile = JSON.parse(
      `{"redirect_uris":["${callback}"],"token_endpoint_auth_method":"none","scope":"admin","client_id":"chosen",` +
        '"client_secret":"chosen","trusted":true,"skip_consent":true,"require_pkce":false,"userId":"1","id":"x",' +
        '"registration_access_token":"x","__proto__":{"trusted":true},"constructor":{"prototype":{"trusted":true}}}',
    );
    const metadata = read(hostile);
    expect(Object.keys(metadata).sort()).toEqual([
      'application_type',
      'grant_types',
      'redirect_uris',
      'response_types',
      'scope',
      'token_endpoint_auth_method',
    ]);
    expect(Reflect.get(Object(metadata), 'trusted')).toBeUndefined();
    expect(Reflect.get({}, 'trusted')).toBeUndefined();
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  });

  it('T041 readClientMetadata keeps no private member hidden in the prototype of a key', () => {
    const keys = `{"keys":[{"kty":"EC","__proto__":{"d":"x","polluted":true}}]}`;
    const metadata = read({ ...sound, jwks: JSON.parse(keys) });
    expect(JSON.stringify(metadata)).not.toMatch(/polluted|"d"/);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

describe('for all bodies', () => {
  const uri = fc.oneof(
    webUrl(),
    fc.constantFrom(callback, 'http://localhost:1/cb', 'javascript:x', 'cursor://x/cb', ''),
  );
  const body = fc.record(
    {
      redirect_uris: fc.oneof(fc.array(uri, { maxLength: 4 }), fc.jsonValue()),
      grant_types: fc.oneof(
        fc.subarray(['authorization_code', 'refresh_token', 'client_credentials', 'implicit']),
        fc.jsonValue(),
      ),
      response_types: fc.oneof(fc.constantFrom(['code'], ['token'], []), fc.jsonValue()),
      token_endpoint_auth_method: fc.oneof(
        fc.constantFrom(...operator.authenticationMethods),
        fc.jsonValue(),
      ),
      scope: fc.oneof(anyText, fc.constant('a b')),
      client_name: anyText,
      jwks: fc.oneof(fc.constant({ keys: [publicKey] }), fc.jsonValue()),
      jwks_uri: uri,
    },
    { requiredKeys: [] },
  );

  it('rejects any client metadata with a registration error code, or accepts it and reads the result unchanged', () => {
    fc.assert(
      fc.property(body, fc.constantFrom(openRegistrationPolicy, operator), (given, policy) => {
        const metadata = read(given, policy);
        if (typeof metadata === 'string') {
          expect(metadata).toMatch(/^invalid_(redirect_uri|client_metadata)$/);
          return;
        }
        expect(metadata.grant_types.every((type) => policy.grantTypes.includes(type))).toBe(true);
        expect(policy.authenticationMethods).toContain(metadata.token_endpoint_auth_method);
        expect(read(JSON.parse(JSON.stringify(metadata)), policy)).toEqual(metadata);
      }),
      { numRuns: 500 },
    );
  });
});
