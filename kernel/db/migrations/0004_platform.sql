-- wharf: phase=expand
-- What a replay needs beside the body: where the new row is, and how its dates are written.
ALTER TABLE wharf.idempotency
    ADD COLUMN location text COLLATE "C",
    ADD COLUMN datetime_format smallint NOT NULL DEFAULT 0;
