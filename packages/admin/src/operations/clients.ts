/** Operations on clients and initial access tokens: those of the store, and those of the configuration, which only it changes. */
import { hash } from 'node:crypto';
import type { ListedClient, RotatedSecret } from '@portcullis/authorization-server';
import { OAuthError } from '@portcullis/protocol';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { found, OperationError } from './errors.ts';

/** A client wherever it is defined. Times in epoch seconds. */
export interface DescribedClient
  extends Pick<ListedClient, 'id' | 'createdAt' | 'lastUsedAt' | 'disabledAt' | 'expiresAt' | 'verifiedAt'> {
  readonly origin: ListedClient['origin'] | 'configured';
  readonly metadata: Readonly<Record<string, unknown>>;
}

export function describeStored(client: ListedClient): DescribedClient {
  const { id, origin, createdAt, lastUsedAt, disabledAt, expiresAt, verifiedAt, metadata } = client;
  const times = { createdAt, lastUsedAt, disabledAt, expiresAt, verifiedAt };
  return { id, origin, ...times, metadata: { ...metadata } };
}

function describeConfigured(
  document: ReturnType<Administration['configuredClients']>[number],
): DescribedClient {
  const { client_id: id, client_secret: _secret, previous_client_secret: _previous, ...metadata } = document;
  const times = { createdAt: 0, lastUsedAt: null, disabledAt: null, expiresAt: null, verifiedAt: null };
  return { id, origin: 'configured', ...times, metadata };
}

/** The clients of the configuration, by identifier. */
export function configuredClients({ configuredClients: all }: Administration): readonly DescribedClient[] {
  return all().map(describeConfigured);
}

/** @throws OperationError */
export async function describeClient(admin: Administration, id: string): Promise<DescribedClient> {
  const own = configuredClients(admin).find((one) => one.id === id);
  if (own !== undefined) return own;
  return describeStored(found(await admin.clients.find(id), `client ${id}`));
}

/** Seconds that the secret before a rotation is accepted beside the new one, by default. */
export const SECRET_OVERLAP = 86_400;

/**
 * @param overlap seconds that the secret before is accepted beside the new one
 * @returns the new secret, which cannot be read again, and until when the one before is accepted
 */
export async function rotateClientSecret(
  request: AdminRequest,
  id: string,
  overlap: number = SECRET_OVERLAP,
): Promise<RotatedSecret> {
  const { admin } = request;
  checkStored(await describeClient(admin, id));
  const rotated = found(
    await admin.clients.rotateSecret(id, overlap).catch(refusedAs('conflict')),
    `client ${id}`,
  );
  recordChange(request, 'clients.rotate_secret', id, { after: { previousUntil: rotated.previousUntil } });
  return rotated;
}

/** What the authorization server refuses, as an error of the operation. */
function refusedAs(kind: OperationError['kind']): (error: unknown) => never {
  return (error) => {
    throw error instanceof OAuthError ? new OperationError(kind, error.description, { cause: error }) : error;
  };
}

/** @throws OperationError for a client that only the configuration, or its metadata document, changes */
function checkStored({ origin }: DescribedClient): void {
  if (origin === 'metadata-document')
    throw new OperationError(
      'conflict',
      'The app publishes its metadata document itself: refuse its host in the configuration (metadataDocuments.refusedHosts), and end its connections.',
    );
  if (origin === 'configured')
    throw new OperationError(
      'conflict',
      'The client is defined in the configuration: change it there, or remove it; the server reads a changed file again.',
    );
}

/** @returns what was registered, with the secret, which cannot be read again */
export async function addTrustedClient(
  request: AdminRequest,
  metadata: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { admin } = request;
  const registered = await admin.clients.add(metadata).catch(refusedAs('invalid'));
  const id = String(registered['client_id']);
  recordChange(request, 'clients.add', id, { after: (await describeClient(admin, id)).metadata });
  return registered;
}

/**
 * Changes the metadata of a client. Members that are not given stay; those that are `null` are removed.
 * @returns what is registered now, with a secret if it needs one and had none
 */
export async function updateClientMetadata(
  request: AdminRequest,
  id: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { admin } = request;
  const before = await describeClient(admin, id);
  checkStored(before);
  const registered = await admin.clients.update(id, changes).catch(refusedAs('invalid'));
  const { metadata } = await describeClient(admin, id);
  recordChange(request, 'clients.update', id, changesOf(before.metadata, metadata));
  return found(registered, `client ${id}`);
}

/** The members that differ. */
function changesOf(before: DescribedClient['metadata'], after: DescribedClient['metadata']) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const pick = (metadata: DescribedClient['metadata']) =>
    Object.fromEntries(names.map((name) => [name, metadata[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}

/** Whether an operator defined the client, or has verified it. */
export function isKnownClient({ origin, verifiedAt }: DescribedClient): boolean {
  return origin === 'configured' || origin === 'administered' || verifiedAt !== null;
}

/** What is verified: the metadata of a client, hashed. */
export function metadataHashOf({ metadata }: Pick<DescribedClient, 'metadata'>): string {
  return hash('sha256', JSON.stringify(metadata), 'base64url').slice(0, 22);
}

/**
 * Marks a client that registered itself, or publishes a metadata document, as verified, or takes that back.
 * @param looked the hash of the metadata that the operator looked at; `null`: the current metadata
 */
export async function changeClientVerification(
  request: AdminRequest,
  id: string,
  change: 'verify' | 'unverify',
  looked: string | null = null,
): Promise<DescribedClient> {
  const { admin } = request;
  const before = await describeClient(admin, id);
  if (before.origin === 'configured' || before.origin === 'administered')
    throw new OperationError('conflict', 'An operator defined this client: it needs no verification.');
  if (looked !== null && looked !== metadataHashOf(before)) throw changedMeanwhile();
  const metadata = before.metadata as unknown as ListedClient['metadata'];
  const isChanged =
    change === 'verify' ? await admin.clients.verify(id, metadata) : await admin.clients.unverify(id);
  if (!isChanged) throw changedMeanwhile();
  const after = await describeClient(admin, id);
  recordChange(request, `clients.${change}`, id, {
    before: { verifiedAt: before.verifiedAt },
    after: { verifiedAt: after.verifiedAt, metadata: metadataHashOf(after) },
  });
  return after;
}

function changedMeanwhile(): OperationError {
  return new OperationError('conflict', 'The app has changed its metadata meanwhile: look at it again.');
}

export async function changeClientState(
  request: AdminRequest,
  id: string,
  change: 'disable' | 'enable' | 'remove',
): Promise<DescribedClient> {
  const { admin, operator } = request;
  const before = await describeClient(admin, id);
  checkStored(before);
  if (change !== 'enable' && id === operator.clientId)
    throw new OperationError('conflict', 'This is the client that you use: use another one for this.');
  found(await admin.clients[change](id), `client ${id}`);
  const after = change === 'remove' ? null : await describeClient(admin, id);
  recordChange(request, `clients.${change}`, id, {
    before: { disabledAt: before.disabledAt },
    after: after && { disabledAt: after.disabledAt },
  });
  return after ?? before;
}
