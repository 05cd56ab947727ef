/** Detects the transport and revision of an HTTP backend, once, when a client's may differ. */

import { isMembers } from '@portcullis/http';
import type { Addresses } from '../../addresses/addresses.ts';
import type { BackendCredential } from '../../credentials/credential-source.ts';
import { anonymousOwnerOf } from '../../servers/request.ts';
import type { GatewayServer } from '../../servers/server.ts';
import { BackendError, type InitializeResult } from '../backend.ts';
import { GATEWAY_INITIALIZE } from '../revisions.ts';
import { type BackendProtocol, createHttpBackend } from './http-backend.ts';

export interface BackendProtocols {
  readonly sessions: boolean;
  readonly stateless: boolean;
  /** HTTP+SSE; found only in a backend that speaks neither. */
  readonly sse: boolean;
  /** Whether it declares the extension for tasks. */
  readonly tasks: boolean;
}

export type ProtocolDetection = ReturnType<typeof createProtocolDetection>;

/** Sends the credential of the first user: backends may require one even for detection. */
export function createProtocolDetection(server: GatewayServer, addresses: Addresses) {
  const { connect } = server.limits;
  const owner = anonymousOwnerOf({ resource: server.resource, backend: server.pinnedBackend });
  const backends = {
    stateless: createHttpBackend({ server, addresses, protocol: 'stateless' }),
    sessions: createHttpBackend({ server, addresses, protocol: 'sessions' }),
    // A stream that names no endpoint may be of anything.
    sse: createHttpBackend({
      server: { ...server, limits: { ...server.limits, firstByte: connect } },
      addresses,
      protocol: 'sse',
    }),
  };
  let protocols: BackendProtocols | null = null;
  let detecting: Promise<BackendProtocols | null> | null = null;

  return {
    /** `null` until one of them was detected. */
    known: (): BackendProtocols | null => protocols,
    /** `null` if the backend is unreachable or requires another credential: the request itself will fail with the reason. */
    detect(credential: BackendCredential): Promise<BackendProtocols | null> {
      detecting ??= detectNow(credential)
        .catch(() => null)
        .then((found) => {
          // Whatever it answered with instead may pass.
          if (found !== null && (found.sessions || found.stateless || found.sse)) protocols = found;
          detecting = null;
          return found;
        });
      return detecting;
    },
    async close(): Promise<void> {
      await Promise.all(Object.values(backends).map((backend) => backend.close()));
    },
  };

  async function detectNow(credential: BackendCredential): Promise<BackendProtocols | null> {
    const discovered = await open('stateless', credential);
    const stateless = discovered !== null;
    const sessions = (await open('sessions', credential).catch(() => null)) !== null;
    const sse = !stateless && !sessions && (await open('sse', credential)) !== null;
    return { stateless, sessions, sse, tasks: stateless && declaresTasks(discovered) };
  }

  /** Opens a session and closes it. @returns `null` if the backend does not speak the protocol @throws when that is not known */
  async function open(
    protocol: BackendProtocol,
    credential: BackendCredential,
  ): Promise<InitializeResult | null> {
    const access = { principal: null, credential: () => credential, rejected: async () => 'final' as const };
    try {
      const session = await backends[protocol].open(owner, GATEWAY_INITIALIZE, access);
      await session.close();
      return session.initialized;
    } catch (error) {
      if (saysNothing(error)) throw error;
      return null;
    }
  }
}

/** Whether a failure is about something else than the protocol: the connection, the credential, or the load. */
function saysNothing(error: unknown): boolean {
  if (!(error instanceof BackendError)) return true;
  const { failure, status } = error;
  if (status !== null) return failure === 'challenged' || status === 429 || status >= 500;
  return failure === 'unavailable' || failure === 'timeout';
}

function declaresTasks({ capabilities }: InitializeResult): boolean {
  const { extensions } = capabilities;
  return isMembers(extensions) && 'io.modelcontextprotocol/tasks' in extensions;
}
