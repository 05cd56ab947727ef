/**
 * The attributes of users and groups: one table each, from which representations are read and written and the schema documents are
 * made. Only what authorization uses is stored.
 * @see RFC 7643 §4, §7
 */
import type { ProvisionedResource } from '../store/index.ts';

/** An attribute. What is left out has the default of RFC 7643 §2.2. */
export interface Attribute {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'complex' | 'reference';
  readonly description: string;
  readonly required?: true;
  readonly multiValued?: true;
  readonly caseExact?: true;
  readonly mutability?: 'readOnly' | 'immutable';
  readonly returned?: 'always';
  readonly uniqueness?: 'server';
  readonly canonicalValues?: readonly string[];
  readonly referenceTypes?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
}

/** A resource type with its schema. */
export interface ResourceType {
  readonly kind: ProvisionedResource['kind'];
  readonly endpoint: '/Users' | '/Groups';
  readonly schema: string;
  readonly description: string;
  /** The attribute that names it, required. */
  readonly nameAttribute: 'userName' | 'displayName';
  readonly attributes: readonly Attribute[];
}

const text = (
  name: string,
  description: string,
  more: Omit<Partial<Attribute>, 'name' | 'description'> = {},
): Attribute => ({ name, type: 'string', description, ...more });

const externalId = text('externalId', 'The identifier that the provisioning service assigns', {
  caseExact: true,
});

const reference = (
  name: string,
  type: string,
  mutability: 'immutable' | 'readOnly' = 'immutable',
): readonly Attribute[] => [
  text('value', `Identifier of the ${name}`, { mutability }),
  text('$ref', `URI of the ${name}`, { type: 'reference', mutability, referenceTypes: [type] }),
  text('display', `Name of the ${name}`, { mutability: 'readOnly' }),
  text('type', `What the ${name} is`, { mutability, canonicalValues: [type === 'User' ? type : 'direct'] }),
];
const USER: ResourceType = {
  kind: 'User',
  endpoint: '/Users',
  schema: 'urn:ietf:params:scim:schemas:core:2.0:User',
  description: 'User account',
  nameAttribute: 'userName',
  attributes: [
    text('userName', 'The name with which the user signs in at the identity provider', {
      required: true,
      uniqueness: 'server',
    }),
    externalId,
    text('name', 'The components of the user’s name', {
      type: 'complex',
      subAttributes: [
        text('formatted', 'The whole name'),
        text('familyName', 'Family name'),
        text('givenName', 'Given name'),
        text('middleName', 'Middle names'),
        text('honorificPrefix', 'Title'),
        text('honorificSuffix', 'Suffix'),
      ],
    }),
    text('displayName', 'The name that is shown'),
    text('active', 'Whether the user may sign in and keep access', { type: 'boolean' }),
    text('emails', 'Email addresses, as the identity provider asserts them', {
      type: 'complex',
      multiValued: true,
      subAttributes: [
        text('value', 'Address'),
        text('display', 'Label'),
        text('type', 'What it is for', { canonicalValues: ['work', 'home', 'other'] }),
        text('primary', 'Whether it is preferred', { type: 'boolean' }),
      ],
    }),
    text('groups', 'Groups that the user is in, changed at the groups', {
      type: 'complex',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: reference('group', 'Group', 'readOnly'),
    }),
  ],
};

const GROUP: ResourceType = {
  kind: 'Group',
  endpoint: '/Groups',
  schema: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  description: 'Group of users',
  nameAttribute: 'displayName',
  attributes: [
    text('displayName', 'The name of the group, by which rules name it', { required: true }),
    externalId,
    text('members', 'Users in the group', {
      type: 'complex',
      multiValued: true,
      subAttributes: reference('user', 'User'),
    }),
  ],
};

export const RESOURCE_TYPES: readonly ResourceType[] = [USER, GROUP];

/** An attribute by its name, whose case does not matter. @see RFC 7643 §2.1 */
export function findAttribute(attributes: readonly Attribute[] | undefined, name: string): Attribute | null {
  const wanted = name.toLowerCase();
  return attributes?.find((attribute) => attribute.name.toLowerCase() === wanted) ?? null;
}

/** Attributes that every resource has, beside those of its schema. @see RFC 7643 §3.1 */
const COMMON: readonly Attribute[] = [
  text('id', 'Identifier', { caseExact: true, mutability: 'readOnly', returned: 'always' }),
  text('schemas', 'Schemas', { caseExact: true, multiValued: true, returned: 'always' }),
  text('meta', 'Metadata', {
    type: 'complex',
    mutability: 'readOnly',
    subAttributes: [
      text('resourceType', 'Type'),
      text('created', 'When it was created'),
      text('lastModified', 'When it was changed'),
      text('location', 'URI'),
      text('version', 'ETag'),
    ],
  }),
];

export const attributesOf = (type: ResourceType): readonly Attribute[] => [...COMMON, ...type.attributes];

/** The name and sub-attribute of an attribute path, without the URN of the schema. @see RFC 7644 §3.10 */
export interface AttributePath {
  readonly name: string;
  readonly subName: string | null;
  /** The URN of another schema than that of the resource, of which nothing is stored. */
  readonly isForeign: boolean;
}

const PATH = /^(?:(urn:[\w.:-]+):)?([a-z$][\w$-]*)(?:\.([a-z$][\w$-]*))?$/i;

/** `null`: it is none. */
export function readAttributePath(written: string, type: ResourceType): AttributePath | null {
  const [, urn, name, subName = null] = PATH.exec(written) ?? [];
  if (name === undefined) return null;
  return { name, subName, isForeign: urn !== undefined && urn.toLowerCase() !== type.schema.toLowerCase() };
}

const SCHEMA_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const TYPE_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';

/** @param base the URL of the endpoint */
export function schemaDocument(type: ResourceType, base: string): object {
  return {
    schemas: [SCHEMA_SCHEMA],
    id: type.schema,
    name: type.kind,
    description: type.description,
    attributes: type.attributes.map(attributeDocument),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${type.schema}` },
  };
}

function attributeDocument(attribute: Attribute): object {
  const { name, type, description, subAttributes, canonicalValues, referenceTypes } = attribute;
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    ...(type === 'string' && { caseExact: attribute.caseExact ?? false }),
    ...(type === 'reference' && { caseExact: true }),
    mutability: attribute.mutability ?? 'readWrite',
    returned: attribute.returned ?? 'default',
    ...(type !== 'boolean' && { uniqueness: attribute.uniqueness ?? 'none' }),
    ...(canonicalValues !== undefined && { canonicalValues }),
    ...(referenceTypes !== undefined && { referenceTypes }),
    ...(subAttributes !== undefined && { subAttributes: subAttributes.map(attributeDocument) }),
  };
}

export function resourceTypeDocument(
  { kind, endpoint, schema, description }: ResourceType,
  base: string,
): object {
  return {
    schemas: [TYPE_SCHEMA],
    id: kind,
    name: kind,
    endpoint,
    description,
    schema,
    schemaExtensions: [],
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${kind}` },
  };
}
