/** Metadata documents of authorization servers and protected resources: read, built, and hostile. */
import {
  protectedResourceMetadata,
  readAuthorizationServerMetadata,
  readProtectedResourceMetadata,
} from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';

const server = {
  issuer: 'https://as.example',
  authorization_endpoint: 'https://as.example/oauth/authorize',
  token_endpoint: 'https://as.example/oauth/token',
  response_types_supported: ['code'],
};

const resource = { resource: 'https://mcp.example/mcp', authorization_servers: ['https://as.example'] };

describe('readAuthorizationServerMetadata', () => {
  it.each([
    { description: 'RFC 8414', given: server, expect: server },
    {
      description: '[C-META-3] every member that is used',
      given: {
        ...server,
        registration_endpoint: 'https://as.example/oauth/register',
        revocation_endpoint: 'https://as.example/oauth/revoke',
        introspection_endpoint: 'https://as.example/oauth/introspect',
        jwks_uri: 'https://as.example/jwks',
        scopes_supported: ['a'],
        grant_types_supported: ['authorization_code'],
        token_endpoint_auth_methods_supported: ['none'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: false,
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      },
      expect: { jwks_uri: 'https://as.example/jwks', code_challenge_methods_supported: ['S256'] },
    },
    {
      description: 'the issuer as it is written',
      given: { issuer: 'HTTPS://AS.example:443/' },
      expect: { issuer: 'HTTPS://AS.example:443/' },
    },
    {
      description: 'loopback over http',
      given: { ...server, token_endpoint: 'http://localhost:1/t' },
      expect: { token_endpoint: 'http://localhost:1/t' },
    },
    {
      description: 'empty lists',
      given: { ...server, code_challenge_methods_supported: [] },
      expect: { code_challenge_methods_supported: [] },
    },
    {
      description: 'an endpoint with a query',
      given: { ...server, token_endpoint: 'https://as.example/t?x=1' },
      expect: { token_endpoint: 'https://as.example/t?x=1' },
    },
  ])('reads $description', ({ given, expect: expected }) => {
    expect(readAuthorizationServerMetadata(given)).toMatchObject({ document: expected });
  });

  it('leaves out unknown and null members', () => {
    const given = {
      ...server,
      registration_endpoint: null,
      scopes_supported: null,
      op_policy_uri: 'javascript:x',
      x: {},
    };
    expect(readAuthorizationServerMetadata(given)).toEqual({ document: server });
  });

  const endpoints = [
    'authorization_endpoint',
    'token_endpoint',
    'registration_endpoint',
    'revocation_endpoint',
    'introspection_endpoint',
    'device_authorization_endpoint',
    'jwks_uri',
  ];
  const unsafe = [
    'http://as.example/x',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///x',
    'a:$(calc)',
    'https://x/"&calc&"',
    'https://x/%USERPROFILE%',
    'https://as.example/\nx',
    'https://u:p@as.example/x',
    'https://as.example/#x',
    '/token',
    '',
    'gopher://as.example/',
  ];
  it.each(endpoints)('[C-META-62 C-URL-40] T109 T110 takes no unsafe %s', (name) => {
    for (const given of unsafe) {
      expect(readAuthorizationServerMetadata({ ...server, [name]: given })).toEqual({
        issues: [expect.stringContaining(name)],
      });
    }
  });

  it.each([
    {
      description: 'T112 an issuer that is an array',
      given: { ...server, issuer: ['https://as.example'] },
      expect: 'issuer',
    },
    { description: 'no issuer', given: { ...server, issuer: undefined }, expect: 'issuer' },
    {
      description: 'a list that is text',
      given: { ...server, code_challenge_methods_supported: 'S256' },
      expect: 'code_challenge_methods_supported',
    },
    {
      description: 'a list of numbers',
      given: { ...server, grant_types_supported: [1] },
      expect: 'grant_types_supported.0',
    },
    {
      description: 'text for a flag',
      given: { ...server, authorization_response_iss_parameter_supported: 'true' },
      expect: 'authorization_response_iss_parameter_supported',
    },
    { description: 'an array', given: [server], expect: 'JSON object' },
    { description: 'text', given: '<html>', expect: 'JSON object' },
    { description: 'null', given: null, expect: 'JSON object' },
  ])('tells what is wrong: $description', ({ given, expect: expected }) => {
    expect(readAuthorizationServerMetadata(given)).toEqual({ issues: [expect.stringContaining(expected)] });
  });

  it('tells all that is wrong at once, and repeats none of it', () => {
    const reading = readAuthorizationServerMetadata({
      issuer: 5,
      token_endpoint: 'javascript:evil',
      jwks_uri: 'x"<evil>',
    });
    expect(reading).toEqual({
      issues: [
        expect.stringContaining('issuer'),
        expect.stringContaining('token_endpoint'),
        expect.stringContaining('jwks_uri'),
      ],
    });
    expect(JSON.stringify(reading)).not.toContain('evil');
  });
});

describe('readProtectedResourceMetadata', () => {
  it.each([
    { description: '[S-PRM-2] the least', given: resource, expect: resource },
    {
      description: '[S-PRM-3 C-PRM-2] several authorization servers',
      given: { ...resource, authorization_servers: ['https://a.example', 'https://b.example/t'] },
      expect: { ...resource, authorization_servers: ['https://a.example', 'https://b.example/t'] },
    },
    {
      description: '[C-PRM-62] and leaves out unknown members',
      given: { ...resource, scopes_supported: ['a'], resource_name: 'Notes', signed_metadata: 'ey', x: 1 },
      expect: { ...resource, scopes_supported: ['a'], resource_name: 'Notes' },
    },
    {
      description: 'loopback over http',
      given: { resource: 'http://localhost:1/mcp', authorization_servers: ['http://127.0.0.1:2'] },
      expect: { resource: 'http://localhost:1/mcp', authorization_servers: ['http://127.0.0.1:2'] },
    },
    { description: 'null as absent', given: { ...resource, scopes_supported: null }, expect: resource },
  ])('reads $description', ({ given, expect: expected }) => {
    expect(readProtectedResourceMetadata(given)).toEqual({ document: expected });
  });

  it.each([
    {
      description: '[S-PRM-2] no authorization server named',
      given: { resource: resource.resource },
      expect: 'authorization_servers',
    },
    {
      description: '[S-PRM-2] an empty list',
      given: { ...resource, authorization_servers: [] },
      expect: 'at least one',
    },
    {
      description: '[S-PRM-2] text for a list',
      given: { ...resource, authorization_servers: 'https://as.example' },
      expect: 'authorization_servers',
    },
    {
      description: '[S-PRM-2] an entry that is no URL',
      given: { ...resource, authorization_servers: ['as'] },
      expect: 'authorization_servers.0',
    },
    {
      description: 'T103 an authorization server over plain http',
      given: { ...resource, authorization_servers: ['http://169.254.169.254'] },
      expect: 'https',
    },
    {
      description: 'T103 an authorization server that is a file',
      given: { ...resource, authorization_servers: ['file:///x'] },
      expect: 'authorization_servers.0',
    },
    {
      description: 'an authorization server with a query',
      given: { ...resource, authorization_servers: ['https://as.example?x'] },
      expect: 'no query',
    },
    {
      description: '[S-PRM-60] no resource',
      given: { authorization_servers: ['https://as.example'] },
      expect: 'resource',
    },
    {
      description: '[S-PRM-60] a resource over plain http',
      given: { ...resource, resource: 'http://mcp.example' },
      expect: 'resource',
    },
    {
      description: '[S-PRM-60] a resource with a fragment',
      given: { ...resource, resource: 'https://mcp.example#x' },
      expect: 'no fragment',
    },
    { description: 'T104 an empty resource', given: { ...resource, resource: '' }, expect: 'resource' },
    { description: 'an array', given: [], expect: 'JSON object' },
  ])('tells what is wrong: $description', ({ given, expect: expected }) => {
    const reading = readProtectedResourceMetadata(given);
    expect('issues' in reading && reading.issues.join()).toContain(expected);
  });
});

describe('protectedResourceMetadata', () => {
  it('[S-PRM-65 S-PRM-66] names scopes, methods and the resource', () => {
    const built = protectedResourceMetadata({
      resource: 'https://mcp.example/mcp',
      authorizationServers: ['https://as.example'],
      scopes: ['notes:read'],
      name: 'Notes',
      documentation: 'https://docs.example',
    });
    expect(built).toEqual({
      ...resource,
      scopes_supported: ['notes:read'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
      resource_documentation: 'https://docs.example',
    });
    expect(readProtectedResourceMetadata(JSON.parse(JSON.stringify(built)))).toEqual({ document: built });
  });

  it('[S-PRM-63] leaves out what is empty: no [], no null', () => {
    const built = protectedResourceMetadata({
      resource: 'https://mcp.example/mcp',
      authorizationServers: ['https://as.example'],
      scopes: [],
    });
    expect(Object.keys(built)).toEqual(['resource', 'authorization_servers', 'bearer_methods_supported']);
  });
});

describe('hostile JSON', () => {
  const readers = { readAuthorizationServerMetadata, readProtectedResourceMetadata };
  const members = JSON.stringify({ ...server, ...resource }).slice(1, -1);
  const hostile: readonly { description: string; given: string }[] = [
    {
      description: 'a prototype',
      given: `{${members},"__proto__":{"issuer":"https://evil.example","polluted":true}}`,
    },
    { description: 'a prototype first', given: `{"__proto__":{"polluted":true},${members}}` },
    { description: 'a constructor', given: `{${members},"constructor":{"prototype":{"polluted":true}}}` },
    { description: 'a prototype that is text', given: `{${members},"__proto__":"x"}` },
    { description: 'methods of objects', given: `{${members},"toString":1,"hasOwnProperty":2,"valueOf":3}` },
    {
      description: 'deep nesting in unknown members',
      given: `{${members},"x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    },
    {
      description: 'the last of duplicate keys, as JSON has it',
      given: `{"issuer":"https://evil.example","resource":"https://evil.example",${members}}`,
    },
  ];
  for (const [name, read] of Object.entries(readers)) {
    it.each(hostile)(`T112 ${name} survives $description`, ({ given }) => {
      const reading = read(JSON.parse(given));
      expect('document' in reading && JSON.stringify(reading.document)).toContain('example');
      expect(JSON.stringify(reading)).not.toMatch(/evil|polluted/);
      expect('document' in reading && Object.getPrototypeOf(reading.document)).toBe(Object.prototype);
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    });
  }

  it('T112 a required member is not found in a prototype', () => {
    const given: unknown = JSON.parse('{"__proto__":{"issuer":"https://evil.example"}}');
    expect(readAuthorizationServerMetadata(given)).toEqual({ issues: [expect.stringContaining('issuer')] });
  });

  it('T112 reports a list of a hundred thousand issues in twenty', () => {
    const reading = readAuthorizationServerMetadata({
      ...server,
      scopes_supported: new Array(100_000).fill(1),
    });
    expect('issues' in reading && reading.issues.length).toBe(20);
  });
});
