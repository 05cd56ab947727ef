/** Good and nearly good examples of everything that is read: what mutations begin from. */

const form = [
  'response_type=code&client_id=web&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&scope=notes%3Aread+notes%3Awrite&state=abc&resource=https%3A%2F%2Fmcp.example%2Fnotes&prompt=login+consent',
  'grant_type=authorization_code&code=abc&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcb&client_id=desktop',
  'grant_type=refresh_token&refresh_token=abc~1~def&scope=notes%3Aread&resource=https%3A%2F%2Fmcp.example%2Fnotes&client_secret=s',
  'grant_type=client_credentials&scope=&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ3ZWIiLCJzdWIiOiJ3ZWIifQ.c2ln',
  'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=a.b.c&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&audience=github',
  'Basic d2ViOnNlY3JldA==\nclient_id=web&grant_type=client_credentials',
  'code=abc&state=s&iss=https%3A%2F%2Fas.example', 'error=access_denied&error_description=no&state=s&iss=https%3A%2F%2Fas.example',
  'a=1&a=2', '__proto__=1&constructor=2', '&&=&%', 'a=%ff%fe', 'a=%00', 'response_mode=query&request=x&request_uri=y',
]; // biome-ignore format: one list

const clients = [
  { redirect_uris: ['https://app.example/cb', 'http://127.0.0.1:3000/cb', 'cursor://cb'], client_name: 'App', application_type: 'native' },
  { redirect_uris: ['https://app.example/cb'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none', scope: 'notes:read', client_uri: 'https://app.example/', logo_uri: 'https://app.example/logo.png', 'client_name#ja': 'アプリ', contacts: ['a@app.example'], software_id: 'x', software_version: '1' },
  { redirect_uris: ['https://app.example/cb'], client_name: 'Keys', token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0', kid: 'a', use: 'sig', alg: 'ES256' }] } },
  { redirect_uris: [], jwks_uri: 'https://app.example/jwks', jwks: { keys: [] }, client_secret: 'x', token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] },
  { redirect_uris: 'https://app.example/cb', post_logout_redirect_uris: [null], tos_uri: 'javascript:alert(1)', policy_uri: 'http://app.example' },
  [], null, 'text', 1,
].map((value) => JSON.stringify(value)); // biome-ignore format: one list

const messages = [
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read', arguments: { path: '/a', 'é': [1, null, true, 1.5e3] }, _meta: { progressToken: 'p' } } },
  { jsonrpc: '2.0', id: 'a"b', method: 'resources/read', params: { uri: 'file:///a' } },
  { jsonrpc: '2.0', id: 2, method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'p' }, argument: {} } },
  { jsonrpc: '2.0', id: 3, method: 'tasks/get', params: { taskId: 't' } },
  { jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', id: 1, result: { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } } }, { jsonrpc: '2.0', id: null, error: { code: -1, message: 'x' } },
  [{ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'ping' }], [],
].map((value) => JSON.stringify(value)).concat('{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', ' {"jsonrpc" : "2.0",\t"meth\\u006fd":"ping","id":1e0}\r\n'); // biome-ignore format: one list

const urls = [
  'https://app.example/client.json', 'https://as.example', 'https://as.example:8443/tenant/', 'http://localhost:3000/mcp', 'http://[::1]/', 'https://user:password@app.example/',
  'HTTPS://APP.EXAMPLE/x/../y', 'https://app.example/%2e%2e/x?y#z', 'https://xn--bcher-kva.example/', 'https://127.1/', 'https://0x7f.1/', 'https://[::ffff:127.0.0.1]/x', 'https:\\\\app.example\\x',
  'https://app.example./x', 'https://*.app.example/x', 'https://app.example:443/x', 'https://metadata.google.internal/x', 'https://evil.example/x', 'mailto:a@b', '//app.example/x',
]; // biome-ignore format: one list

const redirects = [
  'https://app.example/cb\nhttps://app.example/cb', 'http://127.0.0.1:3000/cb\nhttp://127.0.0.1:49152/cb', 'http://localhost/cb?x=1\nhttp://localhost:1/cb?x=1', 'http://[::1]:65535/\nhttp://[::1]/',
  'cursor://anysphere.cursor-retrieval/oauth', 'com.example.app:/cb', 'javascript:alert(1)', ' java\tscript:alert(1)', 'data:text/html,x', 'https://a@b@localhost/cb', 'http://localhost:80@evil.example/cb',
  'http://127.0.0.1.evil.example/cb', 'https://app.example/cb#f', 'https://app.example/cb?code=1', 'https://app.example\\@evil.example/', 'https://app.example%2eevil.example/', 'http://127.0.0.1:99999/', 'https:/app.example', 'https:app.example',
]; // biome-ignore format: one list

const servers = [
  { issuer: 'https://as.example', authorization_endpoint: 'https://as.example/authorize', token_endpoint: 'https://as.example/token', registration_endpoint: 'https://as.example/register', jwks_uri: 'https://as.example/jwks', response_types_supported: ['code'], grant_types_supported: ['authorization_code'], code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['none'], scopes_supported: ['a'], authorization_response_iss_parameter_supported: true, client_id_metadata_document_supported: true },
  { issuer: ['x'], token_endpoint: 'http://as.example/token', authorization_endpoint: 'javascript:x' }, {}, [], null,
].map((value) => JSON.stringify(value)); // biome-ignore format: one list

const resources = [
  { resource: 'https://mcp.example/notes', authorization_servers: ['https://as.example'], scopes_supported: ['notes:read'], bearer_methods_supported: ['header'], resource_name: 'Notes', resource_documentation: 'https://mcp.example/doc' },
  { resource: '', authorization_servers: 'x' }, [], null,
].map((value) => JSON.stringify(value)); // biome-ignore format: one list

/** What kind of text it is. */
type Kind =
  | 'form' | 'messages' | 'clients' | 'urls' | 'redirects' | 'servers' | 'resources' | 'json' | 'tokens' | 'types' | 'authorization'
  | 'basic' | 'challenges' | 'scopes' | 'addresses' | 'forwarded' | 'caches'; // biome-ignore format: one list

export const seeds: Readonly<Record<Kind, readonly string[]>> = {
  form,
  messages,
  clients,
  urls,
  redirects,
  servers,
  resources,
  json: [...clients, ...servers, '{"a":{"b":[1,{"c":null}]}}', '{"a":1,"a":2}', '{"__proto__":{"x":1}}', '[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]', '"\\ud800"', '1e999', '{"a":"\\u0000"}'],
  tokens: ['{"access_token":"x","token_type":"Bearer","expires_in":600,"refresh_token":"y","scope":"a b"}', '{"access_token":"x","token_type":"DPoP","expires_in":"600"}', '{}'],
  types: ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=utf-8', 'application/json, application/x-www-form-urlencoded', 'application/x-www-form-urlencoded;charset="utf-7"', 'multipart/form-data; boundary=x', ''],
  authorization: ['Bearer a.b.c', 'Basic d2ViOnNlY3JldA==', 'DPoP x', 'bearer  x', 'Bearer', 'Basic ===', 'Basic d2Vi, Bearer x'],
  basic: ['web:secret', 'web%3A1:s%2Bcret+x', 'a:b:c', ':', 'web', 'w\u00e9b:s', '%:%', 'web:%zz', '\0:\0'],
  challenges: ['Bearer realm="x", error="invalid_token", error_description="a \\"b\\"", resource_metadata="https://mcp.example/.well-known/oauth-protected-resource", scope="a b"', 'Basic realm=x, Bearer', 'Negotiate abc==, Bearer error=x', 'DPoP algs="ES256"\nBearer', 'Bearer realm="unterminated', ', , Bearer a=b,', 'Bearer a=b a=c', 'Bearer error="\\'],
  scopes: ['notes:read notes:write', '', ' ', 'a  b', 'a"b', 'a\\b', 'a\tb', 'a a a', '*'],
  addresses: ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', 'fe80::1%eth0', '2001:DB8:0:0:0:0:0:1', '127.1', '0x7f.0.0.1', '::', '1::2::3', '64:ff9b::c000:201', '256.1.1.1'],
  forwarded: ['for=192.0.2.60;proto=http;by=203.0.113.43\n192.0.2.1, 10.0.0.1\nhttps', 'for="[2001:db8:cafe::17]:4711", for=10.0.0.2\n\nhttp', 'for=unknown, for=_hidden;proto=https\n2001:db8::1\nhttps, http', 'FOR="a\\"b"\nx\n'],
  caches: ['cache-control: max-age=60\nage: 5', 'cache-control: s-maxage="10", private', 'expires: Thu, 01 Dec 1994 16:00:00 GMT\ndate: Thu, 01 Dec 1994 15:00:00 GMT', 'cache-control: no-store\nvary: *', 'cache-control: max-age=99999999999999999999', 'age: -1\ncache-control: max-age'],
}; // biome-ignore format: a table
