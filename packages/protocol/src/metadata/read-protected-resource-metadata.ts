/** Parses protected resource metadata (RFC 9728) for the client. */
import * as z from 'zod';
import { issuerError } from '../issuer.ts';
import {
  type ParseResult,
  readDocument,
  secureUrlSchema,
  stringArraySchema,
} from '../parsing/json-document.ts';

/** The resource identifier MUST have no fragment. @see RFC 9728 §1.2 */
const resource = secureUrlSchema.refine((text) => !text.includes('#'), 'must have no fragment');

/** MUST be an issuer identifier. @see RFC 9728 §2 */
const issuer = z.string().superRefine((text, context) => {
  const issue = issuerError(text);
  if (issue !== null) context.addIssue({ code: 'custom', message: issue });
});

const issuers: z.ZodType<readonly string[]> = z
  .array(issuer)
  .min(1, 'must name at least one authorization server');

const schema = z.object({
  resource,
  authorization_servers: issuers,
  scopes_supported: z.exactOptional(stringArraySchema),
  bearer_methods_supported: z.exactOptional(stringArraySchema),
  resource_name: z.exactOptional(z.string()),
  resource_documentation: z.exactOptional(z.string()),
  dpop_signing_alg_values_supported: z.exactOptional(stringArraySchema),
  dpop_bound_access_tokens_required: z.exactOptional(z.boolean()),
});

/** The members that are used, by their names in the RFC. @see RFC 9728 §2 */
export type ProtectedResourceMetadata = Readonly<z.infer<typeof schema>>;

/**
 * Parses a document. It MUST name at least one authorization server and MAY name several. Does not check its
 * resource: the caller knows which one it asked for.
 * @see RFC 9728 §3.3, seed 2.1
 */
export function readProtectedResourceMetadata(json: unknown): ParseResult<ProtectedResourceMetadata> {
  return readDocument<ProtectedResourceMetadata>(schema, json);
}
