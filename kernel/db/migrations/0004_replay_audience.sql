-- wharf: phase=expand
-- An answer that is kept, and is not that of one row, may show rows that are for some users only: the user who got it, as a JSON array; []: a key
-- without a user; NULL: it shows no such rows. Answers that a server of the version before kept have NULL for the day that they last.
ALTER TABLE wharf.idempotency ADD COLUMN audience jsonb;
