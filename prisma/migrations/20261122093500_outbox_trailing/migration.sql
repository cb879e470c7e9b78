-- The state of an event that has nothing left to do and whose workflow only shows it. The state `start` is now for
-- events with something left to do, so that a backlog of delivered events is never in front of them. The release before
-- reads no such row by its state, and its gauge does not count it.
ALTER TYPE "outbox_state" ADD VALUE 'trailing' BEFORE 'done';
