/** Results of a scripted MCP server of the stateless revision. */
export function mcpResult(method: string, more: object = {}): object {
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  if (method !== 'server/discover') return { ...complete, ...more };
  const serverInfo = { name: 'scripted', version: '1' };
  return { ...complete, supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo };
}
