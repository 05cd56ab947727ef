/** The message path: serves clients of both wires whole messages, from a backend of any kind. */
import type { CredentialSource } from '../credentials/credential-source.ts';
import type { GatewayRequest } from '../servers/request.ts';
import type { Sealer } from '../sessions/sealer.ts';
import type { Backend } from './backend.ts';
import type { Message } from './message.ts';

export interface MessagePathOptions {
  readonly sealer: Sealer;
  readonly credentials: CredentialSource;
  /** Filters or changes a response on its way to the client, such as a list of tools. */
  readonly edit?: (response: Message, method: string, request: GatewayRequest) => Promise<Message> | Message;
}

/** Serves the requests of one server. */
export interface MessagePath {
  /** @param body the parsed body of a POST, which policy has allowed: a message or a batch; `null` for GET and DELETE */
  handle(request: GatewayRequest, body: unknown): Promise<void>;
  close(): Promise<void>;
}

export type CreateMessagePath = (backend: Backend, options: MessagePathOptions) => MessagePath;
