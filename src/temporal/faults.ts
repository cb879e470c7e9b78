import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** Codes of gRPC. */
const INVALID_ARGUMENT = 3;
const [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED] = [7, 12, 16];

function codeOf(fault: unknown): number | undefined {
  const cause = fault instanceof ServiceError ? fault.cause : fault;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}

/** Whether Temporal refused the input of one request. It may still accept others. */
export const isRefusedInput = (fault: unknown): boolean => codeOf(fault) === INVALID_ARGUMENT;

/** Whether Temporal lets this caller make no such request: Temporal Cloud, or a server with authorization. */
export function isNotAllowed(fault: unknown): boolean {
  const code = codeOf(fault);
  return code === PERMISSION_DENIED || code === UNIMPLEMENTED || code === UNAUTHENTICATED;
}
