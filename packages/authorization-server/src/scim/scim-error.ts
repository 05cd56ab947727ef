/** Errors of SCIM requests: status, `scimType` and one sentence for the provisioning service. */

/** Keywords of RFC 7644 §3.12, and of RFC 9865 §4.3 for cursors. */
export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'
  | 'invalidCursor';

/** Ends a SCIM request. */
export class ScimError extends Error {
  override readonly name: string = 'ScimError';
  readonly status: number;
  readonly scimType: ScimType | null;
  readonly detail: string;

  constructor(status: number, scimType: ScimType | null, detail: string) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
    this.detail = detail;
  }
}

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** The JSON body of an error. The status is a string. @see RFC 7644 §3.12 */
export function scimErrorDocument(error: Pick<ScimError, 'status' | 'scimType' | 'detail'>): object {
  const { status, scimType, detail } = error;
  return { schemas: [ERROR_SCHEMA], status: String(status), ...(scimType !== null && { scimType }), detail };
}
