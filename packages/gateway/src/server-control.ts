/** What a server allows, composed: its rules, its reviewed tools, and the filter of its lists. */
import { isMembers } from '@portcullis/http';
import type { BackendCredential, CredentialSource } from './credentials/credential-source.ts';
import type { ServedServer } from './handle-request.ts';
import { createListTools, type GatewaySession } from './list-tools.ts';
import { createOperationControl, type OperationControl } from './operation-control.ts';
import { compilePolicy } from './policy/compile-policy.ts';
import { createCatalogue } from './review/create-catalogue.ts';
import type { PinBoard } from './review/pins.ts';
import type { GatewayRequest, OwnedRequest } from './servers/request.ts';
import { resourcesOf } from './servers/resources.ts';
import type { GatewayServer } from './servers/server.ts';

export interface ServerControlOptions {
  readonly credentials: CredentialSource;
  /** `null`: tools are neither reviewed nor compared with what the backend lists. */
  readonly pins: PinBoard | null;
  /** All servers. */
  readonly servers: readonly GatewayServer[];
  readonly events: (event: { readonly type: string; readonly [member: string]: unknown }) => void;
  readonly open: (request: OwnedRequest) => Promise<GatewaySession>;
}

export interface ServerControl
  extends Pick<ServedServer, 'editResponse'>,
    Pick<OperationControl, 'checkRules' | 'decide' | 'filter'> {
  readonly toolsChanged: (server: GatewayServer) => void;
}

export function createServerControl(server: GatewayServer, options: ServerControlOptions): ServerControl {
  const { pins, servers, events, open } = options;
  const resource = resourcesOf(servers).find((one) => one.resource === server.resource);
  const policy = compilePolicy(server, Object.keys(resource?.scopes ?? {}), resource?.grantableTo);
  const catalogue =
    pins === null
      ? null
      : createCatalogue({
          list: createListTools(open),
          pins,
          now: () => performance.now(),
          onChange: (_server, changes) => {
            for (const { tool, state } of changes)
              events({ type: 'tool.changed', server: server.path, tool, change: state });
          },
        });
  const control = createOperationControl(policy, catalogue);
  return {
    checkRules: control.checkRules,
    decide: control.decide,
    filter: control.filter,
    editResponse: (message: unknown, request: GatewayRequest, credential: BackendCredential) => {
      if (!isMembers(message) || !isMembers(message['result'])) return message;
      const { result } = message;
      const filtered = control.filter(result, request, credential.key);
      if (filtered instanceof Promise) return filtered.then((later) => withResult(message, result, later));
      return withResult(message, result, filtered);
    },
    toolsChanged: (one) => catalogue?.changed(one),
  };
}

function withResult(message: object, before: unknown, after: unknown): unknown {
  return after === before ? message : { ...message, result: after };
}
