/** Entry point `options`: the schema of the options and its reader, for programs that configure a server. */
export {
  accessConditionMembers,
  accessConditionNames,
  reportUnknownClaims,
} from './access-condition-schema.ts';
export { createRedirectPolicy } from './clients/known-hosts.ts';
export {
  bytes,
  callback,
  checkedText,
  duration,
  formatDefault,
  type InputOf,
  kindOf,
  lazy,
  list,
  type OptionDefinition,
  type OptionMeta,
  type OptionSection,
  type OutputOf,
  option,
  optionMeta,
  optionSections,
  type ParsedOf,
  record,
  seconds,
  secret,
  text,
  wholeNumber,
} from './option-fields.ts';
export {
  createOptionReport,
  formatOptionIssue,
  type OptionIssue,
  type OptionReport,
  readOption,
} from './option-reader.ts';
export { applyRules, optionDefinitions } from './options.ts';
export { MORE_RESOURCES } from './resources/options.ts';
