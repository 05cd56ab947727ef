/** Entry point `options`: the schema of the options and its reader, for programs that configure a server. */

export { createRedirectPolicy } from './clients/known-hosts.ts';
export { completeEntry } from './federation/provider/complete-entry.ts';
export {
  accessConditionMembers,
  accessConditionNames,
  reportUnknownClaims,
} from './option-schema/access-condition.ts';
export {
  bytes,
  callback,
  checkedText,
  duration,
  formatDefault,
  type GivenOptions,
  type InputOf,
  kindOf,
  lazy,
  list,
  type OptionDefinition,
  type OutputOf,
  option,
  optional,
  optionMeta,
  optionSections,
  type ParsedOf,
  record,
  seconds,
  secret,
  text,
  wholeNumber,
} from './option-schema/fields.ts';
export {
  createOptionReport,
  formatOptionIssue,
  type OptionIssue,
  type OptionReport,
  readOption,
} from './option-schema/reader.ts';
export { applyRules, optionDefinitions } from './options.ts';
export { rateLimitDescriptions } from './rate-limit/options.ts';
export { MORE_RESOURCES } from './resources/options.ts';
