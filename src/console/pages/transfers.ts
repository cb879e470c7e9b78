import type { Form, Page } from '../page.js';
import { transferList } from './transfers/list.js';
import { cancelForm, moveForm } from './transfers/move-forms.js';
import { newTransferForm, newTransferPage } from './transfers/new.js';
import { transferPage } from './transfers/transfer.js';

/** The pages of transfers; `new` comes before the transfers by their ids. */
export const transferPages: readonly (Page | Form)[] = [
  transferList,
  newTransferPage,
  newTransferForm,
  transferPage,
  moveForm,
  cancelForm,
];
