/** Operations on the tokens with which identity providers provision users and groups (SCIM 2.0). */
import { type AdminRequest, recordChange } from './administration.ts';
import { found, OperationError } from './errors.ts';

type Created = Awaited<ReturnType<AdminRequest['admin']['provisioningTokens']['create']>>;

/** @returns it with its secret, which cannot be read again */
export async function createProvisioningToken(
  request: AdminRequest,
  wanted: { readonly identityProvider: string; readonly note: string; readonly seconds: number },
): Promise<Created> {
  const { identityProvider, note, seconds } = wanted;
  const { provisioners, provisioningTokens } = request.admin;
  if (!provisioners.includes(identityProvider))
    throw new OperationError(
      'conflict',
      `No identity provider ${identityProvider} has scim in the configuration${provisioners.length === 0 ? '' : `: there is ${provisioners.join(', ')}`}.`,
    );
  const created = await provisioningTokens.create(identityProvider, note, seconds);
  recordChange(request, 'scim_tokens.create', created.id, {
    after: { identityProvider, note, expiresAt: created.expiresAt },
  });
  return created;
}

export async function revokeProvisioningToken(request: AdminRequest, id: string): Promise<void> {
  found(await request.admin.provisioningTokens.revoke(id), `SCIM token ${id}`);
  recordChange(request, 'scim_tokens.revoke', id);
}
