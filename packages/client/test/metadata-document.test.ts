/** The client ID metadata document: building it, and checking one where it is hosted. */
import { openRegistrationPolicy, readClientMetadata } from '@portcullis/protocol/documents';
import { describe, expect, it } from 'vitest';
import { buildMetadataDocument, checkHostedDocument, readSigningKey } from '../src/index.ts';
import { findDocumentIssues } from '../src/registration/metadata-document.ts';
import { createWorld } from './support/world.ts';

const url = 'https://app.example/client.json';
const good = buildMetadataDocument({ url, clientName: 'Notes' });

it('[C-CIMD-23 C-CIMD-24 C-REFRESH-31] builds a client ID metadata document that servers accept', () => {
  expect(good).toMatchObject({ client_id: url, client_name: 'Notes', application_type: 'native' });
  expect(good.grant_types).toContain('refresh_token');
  expect(findDocumentIssues(good, url)).toEqual([]);
  expect(readClientMetadata(good, openRegistrationPolicy).redirect_uris).toEqual(good.redirect_uris);
});

it.each([
  ['[C-CIMD-24] another client_id', { client_id: `${url}/` }, 'client_id'],
  ['[C-CIMD-24] a client_id in other case', { client_id: 'https://APP.example/client.json' }, 'client_id'],
  ['[C-CIMD-23] no name', { client_name: undefined }, 'client_name'],
  ['[C-CIMD-23] an empty name', { client_name: ' ' }, 'client_name'],
  ['[C-CIMD-23] no redirect URIs', { redirect_uris: [] }, 'redirect_uris'],
  ['a redirect URI that is not one', { redirect_uris: ['http://app.example/cb'] }, 'redirect_uris.0'],
  ['a secret', { client_secret: 's' }, 'secret'],
  [
    'a method with a secret',
    { token_endpoint_auth_method: 'client_secret_post' },
    'token_endpoint_auth_method',
  ],
])('T052 reports an issue of a client ID metadata document with %s', (_what, change, expected) => {
  expect(findDocumentIssues({ ...good, ...change }, url)).toEqual([expect.stringContaining(expected)]);
});

describe('a hosted document', () => {
  const hosted = (response: () => Response) => checkHostedDocument(url, async () => response());

  it('[C-CIMD-21] accepts a valid hosted client ID metadata document', async () => {
    expect(await hosted(() => Response.json(good))).toEqual([]);
  });

  it.each([
    ['another status', () => new Response('', { status: 404 }), '200'],
    ['a redirect', () => new Response(null, { status: 301, headers: { location: '/' } }), 'redirect'],
    ['no JSON', () => new Response('<html>'), 'JSON'],
    ['a list', () => Response.json([good]), 'object'],
    ['too much', () => Response.json({ ...good, x: 'x'.repeat(6000) }), '5120'],
    ['invalid content', () => Response.json({ ...good, client_id: 'x' }), 'client_id'],
  ])('[C-CIMD-21] reports an issue of a hosted document with %s', async (_what, response, expected) => {
    expect(await hosted(response)).toEqual([expect.stringContaining(expected)]);
  });

  it.each([
    'http://app.example/x',
    'https://app.example',
    'https://app.example/a/../b',
    'https://u@app.example/x',
    'https://APP.example/x',
  ])('[C-CIMD-22] does not fetch a document from %s', async (place) => {
    let asked = false;
    const issues = await checkHostedDocument(place, async () => {
      asked = true;
      return Response.json(good);
    });
    expect(issues).toEqual([expect.stringContaining('the URL')]);
    expect(asked).toBe(false);
  });
});

it('[C-CIMD-25] a client with a metadata document authenticates with its key where the server supports that', async () => {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ]);
  const jwk = { ...(await crypto.subtle.exportKey('jwk', pair.privateKey)) };
  const metadataDocumentKey = await readSigningKey(jwk, 'ES256');
  for (const [methods, proven] of [
    [['none', 'private_key_jwt'], true],
    [['none'], false],
  ] as const) {
    const world = await createWorld({
      metadata: {
        client_id_metadata_document_supported: true,
        token_endpoint_auth_methods_supported: methods,
      },
    });
    await world
      .client({ registration: { metadataDocumentUrl: url, metadataDocumentKey } })
      .fetch(world.serverUrl);
    const form = world.as.asked('/token')[0]?.form;
    expect(form?.get('client_id')).toBe(url);
    expect(form?.has('client_assertion')).toBe(proven);
  }
});
