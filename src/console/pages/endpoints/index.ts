import { actions } from './actions.js';
import { checkPages } from './check.js';
import { deletePages } from './delete.js';
import { editPages } from './edit.js';
import { endpointList } from './list.js';
import { newSecretPages } from './new-secret.js';
import { recoverPages } from './recover.js';
import { registerPages } from './register.js';
import { endpointPage } from './show.js';
import { statementPages } from './statement.js';

/** `/console/endpoints`. A path without a parameter precedes the paths that it would match. */
export const endpointPages = [
  endpointList,
  ...registerPages,
  endpointPage,
  ...actions,
  ...editPages,
  ...statementPages,
  ...recoverPages,
  ...checkPages,
  ...newSecretPages,
  ...deletePages,
];
