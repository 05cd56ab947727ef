/** The options schema, for programs that configure a server: validation, documentation, help texts, JSON Schema. */
export {
  accessConditionMembers,
  accessConditionNames,
  reportUnknownClaims,
} from './access-condition-schema.ts';
export { createRedirectPolicy } from './clients/known-hosts.ts';
export {
  boolean,
  checkedText,
  createOptionReport,
  custom,
  duration,
  falseOr,
  formatOptionIssue,
  kindOf,
  lazy,
  list,
  members,
  type OptionIssue,
  type OptionMeta,
  type OptionReport,
  object,
  oneOf,
  optional,
  optionMeta,
  readOption,
  record,
  required,
  seconds,
  secret,
  text,
  union,
  wholeNumber,
} from './option-schema.ts';
export {
  type OptionDefinition,
  type OptionName,
  optionDefinitions,
  type ParsedOptions,
  parseOptions,
} from './options-schema.ts';
export { MORE_RESOURCES } from './resource-options.ts';
export { applyRules, type RuledOptions } from './validate-options.ts';
