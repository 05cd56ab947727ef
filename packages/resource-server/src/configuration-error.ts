/** What a guard or a verifier says at birth when it is configured wrongly. */
export { ConfigurationError } from '@portcullis/protocol/protected-resource';
