/** Metadata documents of authorization servers and protected resources: reading, building, and hostile input. */
import { protectedResourceMetadata } from '@portcullis/protocol';
import {
  readAuthorizationServerMetadata,
  readProtectedResourceMetadata,
} from '@portcullis/protocol/documents';
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
    {
      description: 'readAuthorizationServerMetadata reads an RFC 8414 document',
      given: server,
      expect: server,
    },
    {
      description: '[C-META-3] readAuthorizationServerMetadata reads every member in use',
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
      description: 'readAuthorizationServerMetadata reads the issuer as it is written',
      given: { issuer: 'HTTPS://AS.example:443/' },
      expect: { issuer: 'HTTPS://AS.example:443/' },
    },
    {
      description: 'readAuthorizationServerMetadata accepts loopback over http',
      given: { ...server, token_endpoint: 'http://localhost:1/t' },
      expect: { token_endpoint: 'http://localhost:1/t' },
    },
    {
      description: 'readAuthorizationServerMetadata reads empty lists',
      given: { ...server, code_challenge_methods_supported: [] },
      expect: { code_challenge_methods_supported: [] },
    },
    {
      description: 'readAuthorizationServerMetadata reads an endpoint with a query',
      given: { ...server, token_endpoint: 'https://as.example/t?x=1' },
      expect: { token_endpoint: 'https://as.example/t?x=1' },
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(readAuthorizationServerMetadata(given)).toMatchObject({ document: expected });
  });

  it('readAuthorizationServerMetadata omits unknown and null members', () => {
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
  it.each(endpoints)(
    '[C-META-62 C-URL-40] T109 T110 readAuthorizationServerMetadata rejects an unsafe %s',
    (name) => {
      for (const given of unsafe) {
        expect(readAuthorizationServerMetadata({ ...server, [name]: given })).toEqual({
          issues: [expect.stringContaining(name)],
        });
      }
    },
  );

  it.each([
    {
      description:
        'T112 readAuthorizationServerMetadata explains what is wrong with an issuer that is an array',
      given: { ...server, issuer: ['https://as.example'] },
      expect: 'issuer',
    },
    {
      description: 'readAuthorizationServerMetadata explains what is wrong with a missing issuer',
      given: { ...server, issuer: undefined },
      expect: 'issuer',
    },
    {
      description: 'readAuthorizationServerMetadata explains what is wrong with text in place of a list',
      given: { ...server, code_challenge_methods_supported: 'S256' },
      expect: 'code_challenge_methods_supported',
    },
    {
      description: 'readAuthorizationServerMetadata explains what is wrong with a list of numbers',
      given: { ...server, grant_types_supported: [1] },
      expect: 'grant_types_supported.0',
    },
    {
      description: 'readAuthorizationServerMetadata explains what is wrong with text in place of a boolean',
      given: { ...server, authorization_response_iss_parameter_supported: 'true' },
      expect: 'authorization_response_iss_parameter_supported',
    },
    {
      description:
        'readAuthorizationServerMetadata explains what is wrong with an array in place of a document',
      given: [server],
      expect: 'JSON object',
    },
    {
      description: 'readAuthorizationServerMetadata explains what is wrong with text in place of a document',
      given: '<html>',
      expect: 'JSON object',
    },
    {
      description: 'readAuthorizationServerMetadata explains what is wrong with null in place of a document',
      given: null,
      expect: 'JSON object',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(readAuthorizationServerMetadata(given)).toEqual({ issues: [expect.stringContaining(expected)] });
  });

  it('readAuthorizationServerMetadata reports every issue at once without repeating the values', () => {
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
    {
      description: '[S-PRM-2] readProtectedResourceMetadata reads a document with only the required members',
      given: resource,
      expect: resource,
    },
    {
      description: '[S-PRM-3 C-PRM-2] readProtectedResourceMetadata reads several authorization servers',
      given: { ...resource, authorization_servers: ['https://a.example', 'https://b.example/t'] },
      expect: { ...resource, authorization_servers: ['https://a.example', 'https://b.example/t'] },
    },
    {
      description: '[C-PRM-62] readProtectedResourceMetadata omits unknown members',
      given: { ...resource, scopes_supported: ['a'], resource_name: 'Notes', signed_metadata: 'ey', x: 1 },
      expect: { ...resource, scopes_supported: ['a'], resource_name: 'Notes' },
    },
    {
      description: 'readProtectedResourceMetadata accepts loopback over http',
      given: { resource: 'http://localhost:1/mcp', authorization_servers: ['http://127.0.0.1:2'] },
      expect: { resource: 'http://localhost:1/mcp', authorization_servers: ['http://127.0.0.1:2'] },
    },
    {
      description: 'readProtectedResourceMetadata reads null as absent',
      given: { ...resource, scopes_supported: null },
      expect: resource,
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(readProtectedResourceMetadata(given)).toEqual({ document: expected });
  });

  it.each([
    {
      description:
        '[S-PRM-2] readProtectedResourceMetadata explains what is wrong with a document that names no authorization server',
      given: { resource: resource.resource },
      expect: 'authorization_servers',
    },
    {
      description:
        '[S-PRM-2] readProtectedResourceMetadata explains what is wrong with an empty list of authorization servers',
      given: { ...resource, authorization_servers: [] },
      expect: 'at least one',
    },
    {
      description:
        '[S-PRM-2] readProtectedResourceMetadata explains what is wrong with text in place of a list',
      given: { ...resource, authorization_servers: 'https://as.example' },
      expect: 'authorization_servers',
    },
    {
      description:
        '[S-PRM-2] readProtectedResourceMetadata explains what is wrong with an authorization server that is no URL',
      given: { ...resource, authorization_servers: ['as'] },
      expect: 'authorization_servers.0',
    },
    {
      description:
        'T103 readProtectedResourceMetadata explains what is wrong with an authorization server over plain http',
      given: { ...resource, authorization_servers: ['http://169.254.169.254'] },
      expect: 'https',
    },
    {
      description:
        'T103 readProtectedResourceMetadata explains what is wrong with an authorization server with a file: URL',
      given: { ...resource, authorization_servers: ['file:///x'] },
      expect: 'authorization_servers.0',
    },
    {
      description:
        'readProtectedResourceMetadata explains what is wrong with an authorization server with a query',
      given: { ...resource, authorization_servers: ['https://as.example?x'] },
      expect: 'no query',
    },
    {
      description: '[S-PRM-60] readProtectedResourceMetadata explains what is wrong with a missing resource',
      given: { authorization_servers: ['https://as.example'] },
      expect: 'resource',
    },
    {
      description:
        '[S-PRM-60] readProtectedResourceMetadata explains what is wrong with a resource over plain http',
      given: { ...resource, resource: 'http://mcp.example' },
      expect: 'resource',
    },
    {
      description:
        '[S-PRM-60] readProtectedResourceMetadata explains what is wrong with a resource with a fragment',
      given: { ...resource, resource: 'https://mcp.example#x' },
      expect: 'no fragment',
    },
    {
      description: 'T104 readProtectedResourceMetadata explains what is wrong with an empty resource',
      given: { ...resource, resource: '' },
      expect: 'resource',
    },
    {
      description:
        'readProtectedResourceMetadata explains what is wrong with an array in place of a document',
      given: [],
      expect: 'JSON object',
    },
  ])('$description', ({ given, expect: expected }) => {
    const reading = readProtectedResourceMetadata(given);
    expect('issues' in reading && reading.issues.join()).toContain(expected);
  });
});

describe('protectedResourceMetadata', () => {
  it('[S-PRM-65 S-PRM-66] protectedResourceMetadata names scopes, methods and the resource', () => {
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

  it('[S-PRM-63] protectedResourceMetadata leaves out what is empty: no [], no null', () => {
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
      description: 'duplicate keys, of which JSON keeps the last',
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

  it('T112 finds no required member of a metadata document in a prototype', () => {
    const given: unknown = JSON.parse('{"__proto__":{"issuer":"https://evil.example"}}');
    expect(readAuthorizationServerMetadata(given)).toEqual({ issues: [expect.stringContaining('issuer')] });
  });

  it('T112 reports at most twenty of a hundred thousand issues in a metadata document', () => {
    const reading = readAuthorizationServerMetadata({
      ...server,
      scopes_supported: new Array(100_000).fill(1),
    });
    expect('issues' in reading && reading.issues.length).toBe(20);
  });
});
