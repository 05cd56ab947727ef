/** Invitations by the admin API and the console: with mail the link is in the mail alone, without local accounts there is none. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type MailServer, startMailServer } from '../../../../tests/support/mail-server.ts';
import { newAccount, newAccountLink } from '../../../store/testing/samples.ts';
import { visitConsole } from '../console/visitor.ts';
import { call, type Installation, startInstallation, stateOf } from '../installation.ts';

let mailServer: MailServer;
let t: Installation;

beforeAll(async () => {
  mailServer = await startMailServer();
  t = await startInstallation({ mail: { server: mailServer.url, from: 'gate@example.com' } });
});
afterAll(async () => {
  await t.stop();
  await mailServer.close();
});

async function waitForInvitation(recipient: string): Promise<string> {
  const find = () => mailServer.mails.find(({ recipients }) => recipients.includes(recipient))?.text ?? '';
  await expect.poll(find).toMatch(/\/invitation\?token=\S+/);
  return find();
}

describe('an installation with mail', () => {
  it('mails the link of an account that the API creates, and does not respond with it', async () => {
    const token = await t.machineToken('ops');
    const { status, body } = await call(t, token, 'POST /users', { email: 'api@example.com' });
    expect([status, body]).toMatchObject([201, { user: { email: 'api@example.com' }, link: null }]);
    await waitForInvitation('api@example.com');
  });

  it('mails the link of an account that the console creates, and does not show it', async () => {
    const visitor = await visitConsole(t);
    expect((await visitor.open('/admin/users/invite')).html).toContain('mails a one-time link to its owner');
    const { html } = await visitor.post('/admin/users/invite', {
      ...{ email: 'console@example.com', name: 'Grace', groups: 'editors\nleads\n' },
    });
    expect(html).toContain('gets a mail with a link');
    expect(html).not.toContain('token=');
    await waitForInvitation('console@example.com');
    const token = await t.machineToken('ops');
    expect((await call(t, token, 'GET /users/console@example.com')).body).toMatchObject({
      ...{ name: 'Grace', groups: ['editors', 'leads'], role: null },
    });
  });
});

describe('an installation with identity providers only', () => {
  it('with no local accounts, invitations and resets are refused: users sign in at an identity provider', async () => {
    const provider = { id: 'company', name: 'Company', kind: { issuer: 'https://idp.example' } };
    const secret = 'a secret of the tests, 32 characters';
    const federated = await startInstallation({
      localAccounts: false,
      identityProviders: [{ ...provider, clientId: 'portcullis', clientSecret: secret, scopes: ['openid'] }],
    });
    onTestFinished(async () => void (await federated.stop()));
    const { id } = newAccount();
    await federated.onStore((store) => store.createAccount(newAccount({ id }), newAccountLink(id)));
    const token = await federated.machineToken('ops');
    const before = await stateOf(federated);
    for (const [line, body] of [
      ['POST /users', { email: 'eve@example.com' }],
      [`POST /users/${id}/reset-link`, {}],
    ] as const) {
      const refused = await call(federated, token, line, body);
      expect([refused.status, refused.body]).toMatchObject([
        409,
        { detail: expect.stringContaining('when they first sign in at an identity provider') },
      ]);
    }
    expect(await stateOf(federated)).toEqual(before);
  });
});
