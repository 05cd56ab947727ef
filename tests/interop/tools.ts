/** A tool call as one plain HTTP request, for clients that know OAuth and nothing of MCP. */

export interface ToolCall {
  readonly headers: Headers;
  readonly body: string;
}

export function callTool(name: string, input: Readonly<Record<string, unknown>> = {}): ToolCall {
  return {
    headers: new Headers({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    }),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  };
}

/** The structured content of a tool's result, which comes as JSON or as the only event of a stream. */
export async function readResult(response: Response): Promise<unknown> {
  const text = await response.text();
  const json = /^data: (.+)$/m.exec(text)?.[1] ?? text;
  const { result } = JSON.parse(json) as { readonly result: { readonly structuredContent: unknown } };
  return result.structuredContent;
}
