/** A conversation with a server: asked by the stateless wire where it knows that, else within a session. */
import type { Fetch } from '@portcullis/client';
import { profileC, profileD } from '@portcullis/protocol';
import { isObject } from '../json.ts';
import { Refusal } from './answers.ts';
import { type Ask, createAsking, ServerError } from './asking.ts';
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, VERSION_KEY } from './json-rpc.ts';

export interface Conversation {
  /** The revision that is spoken. */
  readonly revision: string;
  /** What the server lists by itself; empty where it knows no such list. */
  readonly listed: readonly string[];
  readonly ask: Ask;
  close(): Promise<void>;
}

export interface ConversationOptions {
  readonly url: string;
  readonly fetch: Fetch;
  readonly version: string;
  /** Named in the capabilities of each request. */
  readonly extensions?: Readonly<Record<string, object>>;
  /** Offers this revision in a session, and asks for no other; by default the newest that both know is spoken. */
  readonly offer?: string;
}

/** What a client says about itself. */
interface Introduction {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly capabilities: object;
}

/** Begins one. Throws what `fetch` throws, ServerError, and Refusal where the answer was no message at all. */
export async function converse({
  url,
  fetch,
  version,
  extensions = {},
  offer,
}: ConversationOptions): Promise<Conversation> {
  const { wire, ask } = createAsking(url, fetch);
  const { close } = wire;
  const capabilities = Object.keys(extensions).length === 0 ? {} : { extensions };
  const self: Introduction = { clientInfo: { name: 'portcullis', version }, capabilities };
  const alone = statelessly(ask, self);
  const listed = offer === undefined ? await listVersions(alone) : [];
  const { revision } = profileD;
  if (listed.includes(revision)) return { revision, listed, ask: alone, close };
  const begun = await ask('initialize', { protocolVersion: offer ?? profileC.revision, ...self });
  await wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return { revision: readRevision(begun) ?? profileC.revision, listed, ask, close };
}

/** On the stateless wire each request says who asks, and by which revision. */
function statelessly(ask: Ask, { clientInfo, capabilities }: Introduction): Ask {
  const _meta = {
    [VERSION_KEY]: profileD.revision,
    [CLIENT_INFO_KEY]: clientInfo,
    [CAPABILITIES_KEY]: capabilities,
  };
  return (method, params = {}) => ask(method, { ...params, _meta });
}

async function listVersions(ask: Ask): Promise<readonly string[]> {
  try {
    const found = await ask('server/discover');
    const versions = isObject(found) ? found['supportedVersions'] : undefined;
    return Array.isArray(versions) ? versions.filter((one) => typeof one === 'string') : [];
  } catch (error) {
    // A server of an older revision does not know the question, each in its own way.
    if (error instanceof ServerError || error instanceof Refusal) return [];
    throw error;
  }
}

function readRevision(begun: unknown): string | null {
  const revision = isObject(begun) ? begun['protocolVersion'] : undefined;
  return typeof revision === 'string' ? revision : null;
}
