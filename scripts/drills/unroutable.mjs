// `--import` this into a process: at SIGUSR2 every host of Postgres becomes unroutable, and at the next one routable.
import { Socket } from 'node:net';

const port = Number(new URL(process.env.DATABASE_URL).port);
const open = new Set();
let unroutable = false;
const fault = (syscall) =>
  Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: 'EHOSTUNREACH', errno: -113, syscall });
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const target = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (Number(target?.port ?? target) !== port) return connect.apply(this, args);
  if (unroutable) {
    process.nextTick(() => this.destroy(fault('connect')));
    return this;
  }
  open.add(this);
  this.once('close', () => open.delete(this));
  return connect.apply(this, args);
};
process.on('SIGUSR2', () => {
  unroutable = !unroutable;
  if (unroutable) for (const socket of open) socket.destroy(fault('read'));
});
