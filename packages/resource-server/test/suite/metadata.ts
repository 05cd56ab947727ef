/** Protected resource metadata. */
import { describe, expect, it } from 'vitest';
import { ISSUER, RESOURCE } from '../support/issuer.ts';
import { bearer, METADATA, METADATA_PATH, type Stage } from './stage.ts';

export function describeMetadata(stage: Stage): void {
  const { serve } = stage;

  describe('metadata', () => {
    it('[S-PRM-1 S-PRM-2 S-PRM-5 S-PRM-60 S-PRM-61 S-PRM-62 S-PRM-65 S-PRM-66 S-PRM-67 S-PRM-68 S-SCOPE-23] serves resource metadata at both well-known paths, without a token', async () => {
      const { send } = await serve({
        scopes: ['files:read'],
        name: 'Files',
        documentation: 'https://api.example/docs',
      });
      for (const path of [METADATA_PATH, '/.well-known/oauth-protected-resource']) {
        const response = await send({ path });
        expect(response.status).toBe(200);
        expect(response.headers.get('content-type')).toMatch(/^application\/json(?:;|$)/);
        expect(response.headers.get('cache-control')).toMatch(/max-age=\d+/);
        expect(response.json).toEqual({
          resource: RESOURCE,
          authorization_servers: [ISSUER],
          scopes_supported: ['files:read', 'notes:read'],
          bearer_methods_supported: ['header'],
          resource_name: 'Files',
          resource_documentation: 'https://api.example/docs',
        });
      }
      expect(stage.reached).toEqual([]);
    });

    it('[S-PRM-63] omits scopes from metadata and challenge if there are none', async () => {
      const { send } = await serve({ defaultScopes: [] });
      const { json } = await send({ path: METADATA_PATH });
      expect(Object.keys(json)).not.toContain('scopes_supported');
      expect((await send({})).headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${METADATA}"`);
    });

    it('[S-PRM-3 ALL-RES-9] publishes several authorization servers, and the resource in its canonical form', async () => {
      const { send } = await serve({
        resource: 'HTTPS://API.Example/mcp',
        authorizationServers: [ISSUER, 'https://second.example/t1'],
      });
      expect((await send({ path: METADATA_PATH })).json).toMatchObject({
        resource: RESOURCE,
        authorization_servers: [ISSUER, 'https://second.example/t1'],
      });
      expect((await send(bearer(await stage.issuer.token()))).status).toBe(200);
    });

    it('[S-PRM-64 ALL-HTTP-60] serves resource metadata at no other path', async () => {
      const { send } = await serve();
      for (const path of [
        `${METADATA_PATH}/x`,
        '/.well-known/oauth-protected-resource/other',
        `${METADATA_PATH}-evil`,
      ]) {
        const response = await send({ path });
        expect([path, response.status]).toEqual([path, 404]);
        expect(response.headers.get('www-authenticate')).toBeNull();
      }
    });

    it('[S-PRM-64] serves the metadata of each of several resources only at its own path', async () => {
      const { send } = await serve({
        resources: [{ resource: 'https://api.example/a' }, { resource: 'https://api.example/a/b' }],
      });
      const root = '/.well-known/oauth-protected-resource';
      expect((await send({ path: `${root}/a` })).json['resource']).toBe('https://api.example/a');
      expect((await send({ path: `${root}/a/b` })).json['resource']).toBe('https://api.example/a/b');
      expect((await send({ path: root })).status).toBe(404);
      const token = bearer(await stage.issuer.token({ aud: 'https://api.example/a/b' }));
      expect((await send({ ...token, path: '/a/b/c' })).status).toBe(200);
      expect((await send({ ...token, path: '/A/B' })).status).toBe(200);
      expect((await send({ ...token, path: '/a/bc' })).status).toBe(401);
      expect((await send({ ...token, path: '/elsewhere' })).status).toBe(404);
    });

    it('[ALL-HTTP-60] responds to HEAD requests for metadata, and rejects methods that write', async () => {
      const { send } = await serve();
      const head = await send({ path: METADATA_PATH, method: 'HEAD' });
      expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
        200,
        '',
        'application/json',
      ]);
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const response = await send({ path: METADATA_PATH, method });
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      }
    });

    it('[AS-META-7] responds 404 to requests for authorization server metadata, not 401', async () => {
      const { send } = await serve();
      for (const path of [
        '/.well-known/oauth-authorization-server',
        '/.well-known/openid-configuration/mcp',
      ]) {
        expect((await send({ path })).status).toBe(404);
      }
    });
  });
}
