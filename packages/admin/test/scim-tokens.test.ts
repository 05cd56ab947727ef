/** Tokens of provisioning connections in the console: shown once, of a provider that provisions, and revoked at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBackend } from '../../gateway/test/support/backend.ts';
import { furnishedConfiguration, startBackends } from './console/furnished.ts';
import { visitConsole } from './console/visitor.ts';
import { type Installation, startInstallation } from './installation.ts';

let t: Installation;
let backend: TestBackend;

beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation(furnishedConfiguration(backend.url));
});
afterAll(async () => {
  await t.stop();
  await backend.close();
});

const provision = (token: string) =>
  fetch(`${t.url}/scim/v2/Users`, { headers: { authorization: `Bearer ${token}` } });

const listed = () => t.onStore((store) => store.listProvisioningTokens(0));

describe('a token of a provisioning connection', () => {
  it('is created in the console with the URL of the endpoint, and listed in the settings', async () => {
    const visitor = await visitConsole(t);
    const fields = { provider: 'company', note: 'Company app', days: '180' };
    const { html } = await visitor.post('/admin/settings/create-scim-token', fields);
    expect(html).toContain(`${t.url}/scim/v2`);
    const token = /<pre[^>]*>([\w-]{40,})</.exec(html)?.[1] ?? '';
    expect((await provision(token)).status).toBe(200);
    expect((await visitor.open('/admin/settings')).html).toContain('Company app');
    const before = await listed();
    const [{ id = '' } = {}] = before;
    expect(
      (await visitor.post('/admin/settings/create-scim-token', { ...fields, provider: 'other' })).status,
    ).toBe(409);
    expect(await listed()).toEqual(before);
    await visitor.post(`/admin/settings/scim-tokens/${id}/revoke`, {});
    expect((await provision(token)).status).toBe(401);
  });
});
