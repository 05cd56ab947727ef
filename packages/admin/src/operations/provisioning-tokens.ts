/** Operations on the tokens with which identity providers provision users and groups (SCIM 2.0). */
import { type AdminRequest, recordChange } from './administration.ts';
import { found, OperationError } from './errors.ts';

type Created = Awaited<ReturnType<AdminRequest['admin']['provisioningTokens']['create']>>;

/** @returns it with its secret, which cannot be read again */
export async function createProvisioningToken(
  { admin, operator, reason }: AdminRequest,
  {
    identityProvider,
    note,
    seconds,
  }: Readonly<Record<'identityProvider' | 'note', string>> & { seconds: number },
): Promise<Created> {
  const { provisioners, provisioningTokens } = admin;
  if (!provisioners.includes(identityProvider))
    throw new OperationError(
      'conflict',
      `No identity provider ${identityProvider} has scim in the configuration${provisioners.length === 0 ? '' : `: there is ${provisioners.join(', ')}`}.`,
    );
  const created = await provisioningTokens.create(identityProvider, note, seconds);
  recordChange(admin, operator, {
    operation: 'scim_tokens.create',
    target: created.id,
    before: null,
    after: { identityProvider, note, expiresAt: created.expiresAt },
    reason,
  });
  return created;
}

export async function revokeProvisioningToken(
  { admin, operator, reason }: AdminRequest,
  id: string,
): Promise<void> {
  found(await admin.provisioningTokens.revoke(id), `SCIM token ${id}`);
  recordChange(admin, operator, {
    operation: 'scim_tokens.revoke',
    target: id,
    before: null,
    after: null,
    reason,
  });
}
