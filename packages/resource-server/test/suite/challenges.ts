/** Challenges, whatever a request or an application contains (header injection). */
import { OAuthError, parseChallenges, profileA, profileB } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { RESOURCE } from '../support/issuer.ts';
import { bearer, METADATA, METADATA_PATH, type Stage } from './stage.ts';

export function describeChallenges(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('challenges', () => {
    it('[S-WA-60 S-WA-61 S-WA-62] T097 sends one well-formed challenge, whatever the request contains', async () => {
      const { send } = await serve({ scopes: ['a:b'] });
      const token = await stage.issuer.token({ scope: 'a", error="invalid_token' });
      const evil = '/mcp/a%22,%20error=%22x%22%0d%0aSet-Cookie:%20a=b';
      const response = await send({ ...bearer(token, ['x-forwarded-host', 'evil"\\']), path: evil });
      expectRefusal(response, 403, 'insufficient_scope');
      const header = response.headers.get('www-authenticate') ?? '';
      expect(header).toMatch(/^Bearer (?:[a-z_]+="[^"\\]*"(?:, |$))+$/);
      const names = [...header.matchAll(/([a-z_]+)="/g)].map(([, parameter]) => parameter);
      expect(new Set(names).size).toBe(names.length);
      expect(/error_description="[^"]*(?:scope|resource_metadata)=/.test(header)).toBe(false);
      expect(response.headers.get('set-cookie')).toBeNull();
    });

    it('[S-WA-62] T097 never lets an error description of the application pose as a challenge parameter', async () => {
      const { send } = await serve({}, () => {
        throw new OAuthError(
          'insufficient_scope',
          'no", scope="admin\r\nX: y\\ resource_metadata=https://evil.example',
          {
            scopes: ['a'],
          },
        );
      });
      const response = await send(bearer(await stage.issuer.token()));
      const [challenge] = parseChallenges(response.headers.get('www-authenticate'));
      expect(challenge?.parameters.get('scope')).toBe('a');
      expect(challenge?.parameters.get('resource_metadata')).toBe(METADATA);
      expect(response.headers.get('www-authenticate')).not.toContain('resource_metadata=https');
    });

    it('T097 omits malformed scopes of the application from a challenge', async () => {
      const { send } = await serve({}, () => {
        throw new OAuthError('insufficient_scope', 'More.', { scopes: ['a', 'b" error="x', 'c\r\n'] });
      });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['scope']]).toEqual([403, 'a']);
      expect(response.headers.get('www-authenticate')).toContain('scope="a"');
    });

    it('T059 sends challenges with the configured URLs, whatever Host the request names', async () => {
      const { send } = await serve();
      const response = await send({
        headers: [
          ['host', 'evil.example'],
          ['x-forwarded-host', 'evil.example'],
          ['x-forwarded-proto', 'http'],
          ['forwarded', 'host=evil.example'],
        ],
      });
      expectRefusal(response, 401, undefined);
      expect(response.text + JSON.stringify([...response.headers])).not.toContain('evil');
      expect(
        (await send({ path: METADATA_PATH, headers: [['host', 'evil.example']] })).json['resource'],
      ).toBe(RESOURCE);
    });

    it('[ALL-VER-1 S-401-3] sends challenges with a realm and without metadata if only Profile A is enabled', async () => {
      const { send } = await serve({ profiles: [profileA] });
      const response = await send({});
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(`Bearer realm="${RESOURCE}"`);
      expect(response.json['resource_metadata']).toBeUndefined();
      for (const path of [METADATA_PATH, '/.well-known/oauth-protected-resource']) {
        expect((await send({ path })).status).toBe(404);
      }
      expect((await send(bearer(await stage.issuer.token()))).status).toBe(200);
    });

    it('sends challenges without scopes if only Profiles A and B are enabled, whose clients do not read them', async () => {
      const { send } = await serve({ profiles: [profileA, profileB] });
      expect((await send({})).headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${METADATA}"`);
    });
  });
}
