/** What challenges say, whatever a request or an application says. */
import { OAuthError, parseChallenges, profileA, profileB } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { RESOURCE } from '../support/issuer.ts';
import { bearer, METADATA, METADATA_PATH, type Stage } from './stage.ts';

export function describeChallenges(stage: Stage): void {
  const { serve, expectRefusal } = stage;

  describe('challenges', () => {
    it('[S-WA-60 S-WA-61 S-WA-62] T097 stay one well-formed challenge, whatever the request says', async () => {
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

    it('[S-WA-62] T097 keep an application sentence from posing as a parameter', async () => {
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

    it('T097 leave out what is no scope, though an application names it', async () => {
      const { send } = await serve({}, () => {
        throw new OAuthError('insufficient_scope', 'More.', { scopes: ['a', 'b" error="x', 'c\r\n'] });
      });
      const response = await send(bearer(await stage.issuer.token()));
      expect([response.status, response.json['scope']]).toEqual([403, 'a']);
      expect(response.headers.get('www-authenticate')).toContain('scope="a"');
    });

    it('T059 name the configured URLs, whatever host is asked for', async () => {
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

    it('[ALL-VER-1 S-401-3] of a Profile A server name a realm, and no metadata', async () => {
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

    it('of a Profile B server name no scopes, as nobody would read them', async () => {
      const { send } = await serve({ profiles: [profileA, profileB] });
      expect((await send({})).headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${METADATA}"`);
    });
  });
}
