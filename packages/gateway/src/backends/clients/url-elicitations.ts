/** URLs that a backend with sessions wants its user to open before a request, as input of the stateless revision. */
import {
  errorCodes,
  errorResponse,
  isMembers,
  type Message,
  parameter,
  type RequestMessage,
} from '@portcullis/http';
import { initializeParamsOf, MAY_ASK, mayBeAsked } from '../revisions.ts';

/**
 * Any other response stays as it is. The client sends the request again when its user has agreed to open them.
 * @see MCP 2025-11-25, elicitation, URL elicitation required error
 */
export function askToOpen(response: Message, request: RequestMessage): Message {
  const { error } = response;
  const isRequired = isMembers(error) && error['code'] === errorCodes.urlElicitationRequired;
  if (!isRequired || !MAY_ASK.has(request.method)) return response;
  const inputs = readElicitations(error['data']).map((params, index) => {
    const input = { method: 'elicitation/create', params: { ...params, mode: 'url' } };
    return [`open${index}`, input] as const;
  });
  const { capabilities } = initializeParamsOf(request);
  if (inputs.some(([, input]) => !mayBeAsked(capabilities, input))) {
    const data = { requiredCapabilities: { elicitation: { url: {} } } };
    return errorResponse(request.id, errorCodes.missingClientCapability, String(error['message']), data);
  }
  // A user who declined is not asked again.
  const isDeclined = inputs.some(
    ([key]) => (parameter(request, 'inputResponses', key, 'action') ?? 'accept') !== 'accept',
  );
  if (inputs.length === 0 || isDeclined) return response;
  const result = { resultType: 'input_required', inputRequests: Object.fromEntries(inputs) };
  return { jsonrpc: '2.0', id: request.id, result };
}

function readElicitations(data: unknown): readonly { readonly url: string; readonly message: string }[] {
  const written = isMembers(data) && Array.isArray(data['elicitations']) ? data['elicitations'] : [];
  return written.flatMap((one: unknown) => {
    const { url, message } = isMembers(one) ? one : {};
    return typeof url === 'string' && typeof message === 'string' ? [{ url, message }] : [];
  });
}
