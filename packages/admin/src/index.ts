/** Administration of an installation: an API for operators, and an MCP server over the same operations. */
export { type AdminServer, createAdminServer } from './admin-server.ts';
export { createDecideAdminScopes, createFindRole } from './operations/roles.ts';
